package collect

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// tree lists the files below a folder, with what they hold, without git's data.
func tree(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		if err != nil || d.IsDir() {
			return err
		}
		text := ""
		if d.Type().IsRegular() {
			data, _ := os.ReadFile(path)
			text = string(data)
		}
		all = append(all, filepath.ToSlash(rel)+"="+text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

func write(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	repo := []string{".git/HEAD=ref", ".git/objects/x=", ".git/refs/x=", ".git/config=mine", ".git/hooks/pre-commit=mine"}
	for _, tc := range []struct {
		name   string
		before []string
		agent  func(dir string) error
		writes []string
		want   []string
	}{
		{name: "nothing", before: repo, want: repo},
		{name: "commits", before: repo, writes: []string{".git/HEAD=other", ".git/objects/y=", ".git/index=", ".git/logs/HEAD=", ".git/COMMIT_EDITMSG=", "result=1"},
			want: []string{".git/COMMIT_EDITMSG=", ".git/HEAD=other", ".git/config=mine", ".git/hooks/pre-commit=mine", ".git/index=", ".git/logs/HEAD=", ".git/objects/x=", ".git/objects/y=", ".git/refs/x=", "result=1"}},
		{name: "changes settings", before: repo, writes: []string{".git/config=evil", ".git/hooks/post-merge=evil", ".git/modules/a/config=evil"},
			want: []string{".git/HEAD=ref", ".git/config.collected=evil", ".git/config=mine", ".git/hooks/post-merge.collected=evil", ".git/hooks/pre-commit=mine", ".git/modules.collected/a/config=evil", ".git/objects/x=", ".git/refs/x="}},
		{name: "makes another", writes: []string{"sub/.GIT/config=evil", "sub/ok=1"}, want: []string{"sub/.GIT.collected/config=evil", "sub/ok=1"}},
		{name: "file that points elsewhere", before: repo, agent: func(dir string) error {
			return errors.Join(os.Rename(filepath.Join(dir, ".git"), filepath.Join(dir, "moved")), os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: evil"), 0o644))
		}, want: []string{".git.collected=gitdir: evil", "moved/HEAD.collected=ref", "moved/config=mine", "moved/hooks/pre-commit=mine", "moved/objects/x=", "moved/refs/x="}},
		{name: "a repository of another name", writes: []string{"data/HEAD=ref", "data/commondir=../x", "x/objects/a=", "x/refs/a=", "x/config=evil"},
			want: []string{"data/HEAD.collected=ref", "data/commondir=../x", "x/config=evil", "x/objects/a=", "x/refs/a="}},
		{name: "a file called HEAD", writes: []string{"data/HEAD=1"}, want: []string{"data/HEAD=1"}},
		{name: "a link", agent: func(dir string) error { return os.Symlink("/somewhere", filepath.Join(dir, ".git")) }, want: []string{".git.collected="}},
		{name: "a pipe", agent: func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, ".envrc"), 0o600) }, want: []string{".envrc.collected="}},
		{name: "hooks become a link", before: repo, agent: func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, ".git/hooks")), os.Symlink("../evil", filepath.Join(dir, ".git/hooks")))
		}, want: []string{".git/HEAD=ref", ".git/config=mine", ".git/hooks.collected=", ".git/hooks/pre-commit=mine", ".git/objects/x=", ".git/refs/x="}},
		{name: "user's editor", before: []string{".vscode/settings.json=mine"}, writes: []string{".vscode/settings.json=evil", ".vscode/tasks.json=evil"},
			want: []string{".vscode/settings.json.collected=evil", ".vscode/settings.json=mine", ".vscode/tasks.json.collected=evil"}},
		{name: "taken name", writes: []string{".envrc=evil", ".envrc.collected=mine"}, want: []string{".envrc.collected-2=evil", ".envrc.collected=mine"}},
		{name: "left of the outputs", before: []string{"outputs/.git/config=old"}, writes: []string{"outputs/.git/config=evil"}, want: []string{"outputs/.git.collected/config=evil"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, tc.before...)
			_ = worked(t, true, dir, func() {
				write(t, dir, tc.writes...)
				if tc.agent != nil {
					if err := tc.agent(dir); err != nil {
						t.Fatal(err)
					}
				}
			})
			slices.Sort(tc.want)
			if got := tree(t, dir); !slices.Equal(got, tc.want) {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}

// TestGuardOfWhatSettingsLeadTo: relative programs, included settings, hooks that are not
// there yet, and a link on the way to them.
func TestGuardOfWhatSettingsLeadTo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "sub/x=1", "ci/clean.sh=mine", "more.cfg=[alias]\n\tco = !./bin/co\n", "ci.cfg=", "ci/hooks/pre-push=mine", "data=mine")
	run(t, dir, "git", "init", "-q", ".")
	for key, value := range map[string]string{"core.hooksPath": "ci/hooks", "filter.x.clean": "sh 'ci/clean.sh' %f", "include.path": "../more.cfg", "user.name": "data"} {
		run(t, dir, "git", "config", key, value)
	}
	before := tree(t, dir)
	_ = worked(t, true, dir, func() {
		err := errors.Join(os.Rename(filepath.Join(dir, "ci"), filepath.Join(dir, "old")), os.MkdirAll(filepath.Join(dir, "evil/hooks"), 0o755), os.Symlink("evil", filepath.Join(dir, "ci")))
		if err != nil {
			t.Error(err)
		}
		write(t, dir, "evil/hooks/pre-push=evil", "more.cfg=evil", "bin/co=evil", "data=the agent's")
	})
	got := tree(t, dir)
	for _, name := range []string{"ci/hooks/pre-push=evil", "ci/hooks/pre-push", "bin/co"} {
		data, err := os.ReadFile(filepath.Join(dir, strings.TrimSuffix(name, "=evil")))
		if err == nil && strings.Contains(string(data), "evil") {
			t.Errorf("%s is obeyed", name)
		}
	}
	for _, want := range []string{"more.cfg.collected=evil", "bin/co.collected=evil", "data=the agent's"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing: %q, before %q", want, got, before)
		}
	}
}
