package preflight

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/internal/attack"
)

func TestAttacks(t *testing.T) {
	attack.Run(t, []attack.Row{
		{Name: "folder-of-experiment-commands-git", Want: "nothing ran", Try: commandsGit},
		{Name: "dotenv-is-link-to-users-file", Want: "a link must not lead out of the folder", Try: linkedDotEnv},
	})
}

// commandsGit asks for a repository in a folder that git takes for a bare repository, whose
// settings name a program.
func commandsGit(t *testing.T, defended bool) error {
	const wanted = "https://example.org/library"
	dir, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
	for name, text := range map[string]string{
		"HEAD": "ref: refs/heads/main\n", "refs/.keep": "", "objects/.keep": "",
		"config": fmt.Sprintf("[core]\n\trepositoryformatversion = 0\n\tbare = true\n[remote %q]\n\turl = file:///tmp\n\tuploadpack = \"touch '%s'; false\"\n", wanted, ran),
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	repo, problem, _ := ParseRepo(experiment.Repo{URL: wanted})
	if problem != "" {
		t.Fatal(problem)
	}
	ResolveRepo(t.Context(), repo, GitSettings{here: !defended, Env: map[string]string{"HTTPS_PROXY": "http://127.0.0.1:1"}})
	if _, err := os.Stat(ran); err != nil {
		return errors.New("nothing ran")
	}
	return nil
}

func linkedDotEnv(t *testing.T, defended bool) error {
	dir, users := t.TempDir(), filepath.Join(t.TempDir(), ".env")
	if err := errors.Join(os.WriteFile(users, []byte("KEY=secret\n"), 0o600), os.Symlink(users, filepath.Join(dir, ".env"))); err != nil {
		t.Fatal(err)
	}
	open := openDotEnv
	if !defended {
		open = func(dir string) (*os.File, error) { return os.Open(filepath.Join(dir, DotEnv)) }
	}
	env, err := readEnv(dir, nil, open)
	if err != nil {
		return err
	}
	if value, _, _ := env.Lookup("KEY"); value != "secret" {
		return errors.New("it is not read")
	}
	return nil
}
