package hublinks

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
)

const (
	commitA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	commitB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func folder(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		testkit.WriteFile(t, filepath.Join(dir, f), "text of "+f)
	}
	return dir
}

// tree is every file below a folder with what it holds.
func tree(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		if rel != noteName {
			all = append(all, rel+": "+string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func want(t *testing.T, cache string, lines ...string) {
	t.Helper()
	if got := tree(t, cache); !slices.Equal(got, lines) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

func TestMake(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "a", "hub")
	model, data := filepath.Join(t.TempDir(), "model"), folder(t, "train/1")
	if err := os.Symlink(folder(t, "config.json", "sub/x"), model); err != nil { // as of one on a volume
		t.Fatal(err)
	}
	all := []Copy{
		{"org/m", commitA, []string{"main", "refs/pr/1"}, []string{"none.json", "sub/none"}, model},
		{"datasets/org/m", commitB, []string{"v1"}, nil, data},
		{"org/none", commitB, []string{"main"}, nil, filepath.Join(model, "none")},
	}
	for range 2 {
		if err := Make(cache, all); err != nil {
			t.Fatal(err)
		}
		want(t, cache,
			"datasets--org--m/refs/v1: "+commitB, "datasets--org--m/snapshots/"+commitB+"/train/1: text of train/1",
			"models--org--m/.no_exist/"+commitA+"/none.json: ", "models--org--m/.no_exist/"+commitA+"/sub/none: ",
			"models--org--m/refs/main: "+commitA, "models--org--m/refs/refs/pr/1: "+commitA,
			"models--org--m/snapshots/"+commitA+"/config.json: text of config.json", "models--org--m/snapshots/"+commitA+"/sub/x: text of sub/x")
	}
	// A client has added files, and found a newer commit.
	own := filepath.Join(cache, "models--org--m")
	testkit.WriteFile(t, filepath.Join(own, "blobs", "1"), "more")
	if err := os.Symlink("../../blobs/1", filepath.Join(own, "snapshots", commitA, "more")); err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, filepath.Join(own, "refs", "main"), commitB)
	if err := Make(cache, nil); err != nil {
		t.Fatal(err)
	}
	want(t, cache, "models--org--m/blobs/1: more", "models--org--m/refs/main: "+commitB, "models--org--m/snapshots/"+commitA+"/more: more")
	if _, err := os.Lstat(filepath.Join(cache, "datasets--org--m")); err == nil {
		t.Error("an empty folder stays")
	}
	if entries, err := os.ReadDir(cache); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestManyFiles(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	for i := range maxFiles + 1 {
		testkit.WriteFile(t, filepath.Join(dir, fmt.Sprint(i)), "")
	}
	copies := []Copy{{"datasets/org/large", commitA, []string{"main"}, nil, dir}}
	for range 2 {
		if err := Make(cache, copies); err != nil {
			t.Fatal(err)
		}
		if entries, err := os.ReadDir(filepath.Join(cache, "datasets--org--large", "snapshots", commitA)); err != nil || len(entries) != maxFiles+1 {
			t.Errorf("%d, %v", len(entries), err)
		}
	}
	if err := Make(cache, nil); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(cache); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != maxFiles+1 {
		t.Errorf("files of the dataset are gone: %d, %v", len(entries), err)
	}
}

// Code in the sandbox can write the note. It leads to no other folder.
func TestHostileNote(t *testing.T) {
	home := t.TempDir()
	cache := filepath.Join(home, "hub")
	victim := filepath.Join(home, "x", "snapshots", commitA, "link")
	testkit.WriteFile(t, filepath.Join(home, "x", "refs", "main"), commitA)
	if err := os.MkdirAll(filepath.Dir(victim), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", victim); err != nil {
		t.Fatal(err)
	}
	for _, note := range []string{
		`[{"repo":"../x","commit":"` + commitA + `","refs":["main"]}]`, `[{"repo":"org/m","commit":"../../../x","refs":["../../../x/refs/main"]}]`,
		`[{"repo":"org/m","commit":"` + commitA + `","refs":["../../../x/refs/main"]}]`, `{`, `[7]`,
	} {
		testkit.WriteFile(t, filepath.Join(cache, noteName), note)
		if err := Make(cache, nil); err != nil {
			t.Errorf("%s: %v", note, err)
		}
	}
	if _, err := os.Lstat(victim); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(home, "x", "refs", "main")); err != nil {
		t.Error(err)
	}
}

func TestCache(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "/home/u/.cache/huggingface/hub",
		"HF_HOME=/home/u/hf":         "/home/u/hf/hub",
		"HF_HOME=~/hf":               "/home/u/hf/hub",
		"XDG_CACHE_HOME=/home/u/c":   "/home/u/c/huggingface/hub",
		"HF_HUB_CACHE=/home/u/h":     "/home/u/h",
		"HF_HUB_CACHE=/volumes/h":    "",
		"HF_HOME=/home/u2":           "",
		"HUGGINGFACE_HUB_CACHE=/x/y": "",
	} {
		name, value, _ := strings.Cut(text, "=")
		if got := Cache("/home/u", func(asked string) string {
			if asked == name {
				return value
			}
			return ""
		}); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}
