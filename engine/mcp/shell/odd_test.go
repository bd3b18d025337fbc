package shell_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/mcp/shell"
	"github.com/seer-engine/seer/internal/testkit"
)

// odd is a folder with all that is not a plain file: an agent can make it.
func odd(t *testing.T) (there, here string) {
	t.Helper()
	there, here = folder(t, "odd")
	for _, name := range []string{"file", "dir/f", "deep/f", "deep/er/g"} {
		testkit.WriteFile(t, filepath.Join(here, name), name)
	}
	if err := syscall.Mkfifo(filepath.Join(here, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		"loop": "loop", "two": "loops", "loops": "two", "to a folder": "dir", "to a pipe": "fifo", "nowhere": "new/x", "short": "deep/er", "deep/er/up": "../f",
	} {
		if err := os.Symlink(target, filepath.Join(here, link)); err != nil {
			t.Fatal(err)
		}
	}
	return there, here
}

// TestOddPathsOfTheSandbox has every tool refuse what is not a file of its kind, in words and
// at once, and leave it as it is.
func TestOddPathsOfTheSandbox(t *testing.T) {
	mine := mkdir(t, filepath.Join(t.TempDir(), "mine"))
	testkit.WriteFile(t, filepath.Join(mine, "f"), "mine")
	testkit.WriteFile(t, filepath.Join(mine, "folder/f"), "mine")
	s := agent(t, shell.Options{Files: mine})
	there, here := odd(t)
	was := tree(t, here)
	long := there + "/" + strings.Repeat("n", 300)
	for _, tt := range []struct{ path, read, edit, list, write, upload, download string }{
		{"", "is empty", "is empty", "", "is empty", "is empty", "is empty"},
		{"a\x00b", "zero byte", "zero byte", "zero byte", "zero byte", "zero byte", "zero byte"},
		{"\n", "no such file", "no such file", "no such file", "", "", "no such file"},
		{"~other/x", "no such file", "no such file", "no such file", "", "", "no such file"},
		{there + "/../../../../..", "is a folder, not a file", "is a folder", "", "is a folder", "is a folder", ""},
		{there + "/dir", "is a folder, not a file", "is a folder", "", "is a folder", "is a folder", ""},
		{there + "/to a folder", "is a folder, not a file", "is a folder", "", "is a folder", "is a folder", ""},
		{there + "/fifo", "special file", "special file", "not a directory", "special file", "which no file replaces", "special file"},
		{there + "/to a pipe", "special file", "special file", "not a directory", "special file", "which no file replaces", "special file"},
		{there + "/loop", "too many", "too many", "too many", "too many", "too many", "too many"},
		{there + "/two/x", "too many", "too many", "too many", "too many", "too many", "too many"},
		{there + "/file/x", "not a directory", "not a directory", "not a directory", "not a directory", "not a directory", "not a directory"},
		{there + "/nowhere/x", "n", "n", "n", "n", "n", "n"},
		{long, "name too long", "name too long", "name too long", "name too long", "name too long", "name too long"},
		{there + strings.Repeat("/n", 3000), "name too long", "name too long", "name too long", "name too long", "name too long", "name too long"},
		{there + "/cut\ufffd", "no such file", "no such file", "no such file", "", "", "no such file"},
		{"/proc/self/mem", "input/output error", "input/output error", "not a directory", "", "", "input/output error"},
		{"/dev/zero", "special file", "special file", "not a directory", "special file", "", "special file"},
	} {
		for _, call := range []struct {
			tool, says string
			args       object
		}{
			{"read_file", tt.read, object{"path": tt.path}}, {"edit_file", tt.edit, object{"path": tt.path, "old": "old", "new": "new"}},
			{"list_files", tt.list, object{"path": tt.path}}, {"write_file", tt.write, object{"path": tt.path, "content": "x"}},
			{"upload", tt.upload, object{"from": "f", "path": tt.path}}, {"download", tt.download, object{"path": tt.path, "to": "to"}},
		} {
			if call.says != "" {
				refused(t, s, call.tool, call.args, call.says)
			}
		}
	}
	for _, p := range []string{"fifo", "file", "to a pipe", "loop", "file/x"} {
		refused(t, s, "upload", object{"from": "folder", "path": there + "/" + p}, "")
	}
	if got := tree(t, here); got != was {
		t.Errorf("the folder of the sandbox is\n%s\nand was\n%s", got, was)
	}
	if got := tree(t, mine); got != "f folder folder/f" {
		t.Errorf("the user's folder has %s", got)
	}
}

// TestLinksAreFollowedAsTheSystemDoes: .. is above the folder that a link has led to, and
// what a link names need not be there yet.
func TestLinksAreFollowedAsTheSystemDoes(t *testing.T) {
	mine := t.TempDir()
	testkit.WriteFile(t, filepath.Join(mine, "f"), "uploaded")
	testkit.WriteFile(t, filepath.Join(mine, "folder/x"), "x")
	s := agent(t, shell.Options{Files: mine, Workdir: "/workspace/odd"})
	_, here := odd(t)
	was := tree(t, here)
	use(t, s, "read_file", object{"path": "short/up"}).want(t, object{"content": "deep/f"})
	use(t, s, "edit_file", object{"path": "short/up", "old": "deep", "new": "edited"})
	use(t, s, "read_file", object{"path": "/workspace/odd/deep/f"}).want(t, object{"content": "edited/f"})
	use(t, s, "write_file", object{"path": "short/up", "content": "written"}).want(t, object{"created": false})
	if testkit.ReadFile(t, filepath.Join(here, "deep/f")) != "written" {
		t.Error("another file was written")
	}
	use(t, s, "upload", object{"from": "f", "path": "short/up"})
	use(t, s, "download", object{"path": "short/up", "to": "back"})
	if testkit.ReadFile(t, filepath.Join(here, "deep/f")) != "uploaded" || testkit.ReadFile(t, filepath.Join(mine, "back")) != "uploaded" {
		t.Error("another file has travelled")
	}
	use(t, s, "upload", object{"from": "folder", "path": "to a folder"})
	if testkit.ReadFile(t, filepath.Join(here, "dir/x")) != "x" {
		t.Error("the folder of the link has not the file")
	}
	use(t, s, "write_file", object{"path": "nowhere", "content": "new"}).want(t, object{"created": true})
	if got, want := tree(t, here), strings.Replace(was, "dir/f", "dir/f dir/x", 1); got != strings.Replace(want, "nowhere", "new new/x nowhere", 1) {
		t.Errorf("the folder has %s and had %s", got, was)
	}
}

// TestOddPathsOfTheUser: whatever the agent names, what lies beside the user's folder stays
// as it is, and what is in it is replaced only by a file for a file.
func TestOddPathsOfTheUser(t *testing.T) {
	outer := t.TempDir()
	secret := testkit.WriteFile(t, filepath.Join(outer, "secret"), "private")
	mine := mkdir(t, filepath.Join(outer, "mine"))
	testkit.WriteFile(t, filepath.Join(mine, "dir/f"), "mine")
	if err := syscall.Mkfifo(filepath.Join(mine, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"loop": "loop", "above": "..", "root": "/", "dir/secret": "../../secret", "process": "/proc/self"} {
		if err := os.Symlink(target, filepath.Join(mine, link)); err != nil {
			t.Fatal(err)
		}
	}
	s := agent(t, shell.Options{Files: mine})
	there, _ := odd(t)
	was := tree(t, outer)
	for _, name := range []string{
		"", "..", "../secret", "../mine/../secret", "dir/../../secret", secret, "/", "a\x00b", "loop", "loop/x", "above/secret", "above/mine/../secret", "root/etc/hostname",
		"dir/secret/x", "process/mem", "fifo", "fifo/x", "dir/f/x", "dir/f/../../../secret", strings.Repeat("n", 300), strings.Repeat("n/", 3000), "nothing/\n/../../../secret",
	} {
		refused(t, s, "upload", object{"from": name, "path": there + "/stolen"}, "")
		if name == "" || name == "loop" { // the name of the file then, and a link that a file replaces
			continue
		}
		for _, from := range []string{"file", "dir"} {
			refused(t, s, "download", object{"path": there + "/" + from, "to": name}, "")
		}
	}
	for _, to := range []string{"dir", "above", "dir/secret"} { // no folder takes the place of anything
		refused(t, s, "download", object{"path": there + "/deep", "to": to}, "is there already")
	}
	refused(t, s, "upload", object{"from": "dir/secret", "path": there + "/stolen"}, "")
	refused(t, s, "download", object{"path": "..", "to": "."}, "needs a name")
	refused(t, s, "download", object{"path": "/", "to": ""}, "needs a name")
	refused(t, s, "download", object{"path": there + "/file", "to": "dir"}, "not a file")
	if got := tree(t, outer); got != was || testkit.ReadFile(t, secret) != "private" {
		t.Errorf("the user's files are\n%s\nand were\n%s", got, was)
	}
	use(t, s, "download", object{"path": there + "/file", "to": "new\nline/\xc3\xa9"})
	use(t, s, "download", object{"path": there + "/file", "to": "dir/secret"}) // the link goes, what it led to stays
	if testkit.ReadFile(t, filepath.Join(mine, "dir/secret")) != "file" || testkit.ReadFile(t, secret) != "private" {
		t.Error("a download has gone through a link")
	}
}

// tree is all that a folder has, by names and kinds.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		name, _ := filepath.Rel(dir, p)
		if d.Type()&fs.ModeNamedPipe != 0 {
			name += "|"
		}
		all = append(all, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}
