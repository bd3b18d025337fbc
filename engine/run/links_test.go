package run_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/run"
	"github.com/seer-engine/seer/internal/attack"
)

func TestAttacksByLinks(t *testing.T) {
	const want = "the user's file is as before"
	attack.Run(t, []attack.Row{
		{Name: "outputs-agent-log-is-link", Isolation: "bubblewrap", Want: want, Try: func(t *testing.T, defended bool) error {
			return linked(t, "agent.log", os.Symlink, defended)
		}},
		{Name: "outputs-agent-log-is-hard-link", Isolation: "bubblewrap", Want: want, Try: func(t *testing.T, defended bool) error {
			return linked(t, "agent.log", os.Link, defended)
		}},
		{Name: "outputs-run-json-is-link", Isolation: "bubblewrap", Want: want, Try: func(t *testing.T, defended bool) error {
			return linked(t, "run.json", os.Symlink, defended)
		}},
		{Name: "replay-agent-log-is-link", Isolation: "bubblewrap", Want: want, Try: func(t *testing.T, defended bool) error {
			return replayLinked(t, os.Symlink, defended)
		}},
		{Name: "replay-agent-log-is-hard-link", Isolation: "bubblewrap", Want: want, Try: func(t *testing.T, defended bool) error {
			return replayLinked(t, os.Link, defended)
		}},
		{Name: "replay-folder-is-link", Isolation: "bubblewrap", Want: "is a link to", Try: replayFolder},
	})
}

// usersFile makes a file of the user's, to which name in the folder dir leads.
func usersFile(t *testing.T, dir, name string, link func(old, new string) error) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bashrc")
	if err := errors.Join(os.WriteFile(path, []byte("mine"), 0o600), os.MkdirAll(dir, 0o755), link(path, filepath.Join(dir, name))); err != nil {
		t.Fatal(err)
	}
	return path
}

// written is nil if the user's file was written to, and the results lack nothing.
func written(t *testing.T, mine, result string) error {
	t.Helper()
	data, err := os.ReadFile(mine)
	if err != nil {
		return err
	}
	if string(data) != "mine" {
		return nil
	}
	info, err := os.Lstat(result)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		t.Errorf("%s is not there: %v, %v", result, info, err)
	}
	return errors.New("the user's file is as before")
}

// linked runs a confined agent whose outputs folder has a link of that name.
func linked(t *testing.T, name string, link func(old, new string) error, defended bool) error {
	t.Helper()
	e, exp := setup(t, "print('touch evil')", "")
	mine := usersFile(t, exp.Outputs, name, link)
	o := run.Options{}
	if !defended {
		o = run.Through(o)
	}
	if result, err := run.Run(t.Context(), e, exp, o); err != nil || result.ExitCode != 0 {
		return fmt.Errorf("%+v: %w", result, err)
	}
	return written(t, mine, filepath.Join(exp.Outputs, name))
}

// replayFolder replays a record whose folder of results leads to one of the user's, where
// a program obeys what the agent leaves.
func replayFolder(t *testing.T, defended bool) error {
	e, own := ranOnce(t)
	to := t.TempDir()
	if err := os.Symlink(to, filepath.Join(own.Outputs, "replay")); err != nil {
		t.Fatal(err)
	}
	o := run.Options{}
	if !defended {
		o = run.Through(o)
	}
	if _, err := replayed(t, e, own.Outputs, own.File, o, true); err != nil {
		return err
	}
	_, err := os.Lstat(filepath.Join(to, "agent.log"))
	return err
}

// replayLinked is linked for a replay.
func replayLinked(t *testing.T, link func(old, new string) error, defended bool) error {
	t.Helper()
	e, own := ranOnce(t)
	to := filepath.Join(own.Outputs, "replay")
	mine := usersFile(t, to, "agent.log", link)
	o := run.Options{}
	if !defended {
		o = run.Through(o)
	}
	if _, err := replayed(t, e, own.Outputs, own.File, o, true); err != nil {
		return err
	}
	return written(t, mine, filepath.Join(to, "agent.log"))
}

// TestOutputsThatAreInTheWay: what cannot give way is said before anything starts.
func TestOutputsThatAreInTheWay(t *testing.T) {
	for name, fill := range map[string]func(path string) error{
		"agent.log": func(path string) error { return os.Mkdir(path, 0o755) },
		"run.json":  func(path string) error { return os.Mkdir(path, 0o755) },
		"record":    func(path string) error { return os.Symlink(t.TempDir(), path) },
	} {
		e, exp := setup(t, "print('ran')", "")
		path := filepath.Join(exp.Outputs, name)
		if err := errors.Join(os.MkdirAll(exp.Outputs, 0o755), fill(path)); err != nil {
			t.Fatal(err)
		}
		result, err := run.Run(t.Context(), e, exp, run.Options{})
		if err == nil || !strings.Contains(err.Error(), path) || result.Sandbox != "" {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
	}
}
