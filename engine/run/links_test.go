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
	t.Parallel()
	const want = "the user's file is as before"
	attack.Run(t, []attack.Row{
		{Name: "runs-folder-is-link", Isolation: "bubblewrap", Want: "link", Try: runsFolder},
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

// runsFolder runs an experiment whose folder of runs leads to one of the user's.
func runsFolder(t *testing.T, defended bool) error {
	e, exp := setup(t, "print('touch evil')", "")
	to := filepath.Join(filepath.Dir(exp.File), "elsewhere")
	if err := errors.Join(os.Mkdir(to, 0o755), os.Symlink(to, exp.Runs)); err != nil {
		t.Fatal(err)
	}
	if !defended {
		exp.Runs = to
	}
	if result, err := run.Run(t.Context(), e, exp, run.Options{}); err != nil || result.ExitCode != 0 {
		return fmt.Errorf("%+v: %w", result, err)
	}
	logs, err := filepath.Glob(filepath.Join(to, "*", "agent.log"))
	if err != nil || len(logs) == 0 {
		return fmt.Errorf("%q, %w", logs, err)
	}
	return nil
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

// replayLinked replays a record whose folder of results has a link in the place of the log.
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

// TestResultsThatAreInTheWay: what cannot give way is said before anything starts.
func TestResultsThatAreInTheWay(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(path string) error{
		"runs":    func(path string) error { return os.WriteFile(path, nil, 0o644) },
		"results": func(path string) error { return os.WriteFile(path, nil, 0o644) },
	} {
		e, exp := setup(t, "print('ran')", "")
		exp.Outputs = filepath.Join(filepath.Dir(exp.File), "results")
		path := filepath.Join(filepath.Dir(exp.File), name)
		if err := fill(path); err != nil {
			t.Fatal(err)
		}
		result, err := run.Run(t.Context(), e, exp, run.Options{})
		if err == nil || !strings.Contains(err.Error(), path) || result.Sandbox != "" {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
	}
}
