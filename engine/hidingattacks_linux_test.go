package engine_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/trust"
	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/internal/testsource"
)

// The name of [hidden]'s model, in a form that searching for it as it stands misses.
const partOfName = "trained from Quagmire checkpoints"

func utf16(text string) string { return strings.Join(strings.Split(text, ""), "\x00") + "\x00" }

// TestAttacksHidden puts a hidden model's name where an agent of the sandbox reads it.
func TestAttacksHidden(t *testing.T) {
	const refused = "the name of a hidden model can be found in the sandbox"
	var rows []attack.Row
	for _, isolation := range []string{"bubblewrap", "gvisor"} {
		file := func(text, read string) func(t *testing.T, defended bool) error {
			return func(t *testing.T, defended bool) error {
				files := map[string]string{"notes.dat": text}
				return fromInside(t, defended, isolation, ", local_files: [[./notes.dat, /data/notes.dat]]", files, nil, "cat /data/notes.dat | "+read)
			}
		}
		rows = append(rows,
			attack.Row{Name: "hidden-name-in-part", Isolation: isolation, Want: refused, Try: file(partOfName, "cat")},
			attack.Row{Name: "hidden-name-in-utf-16", Isolation: isolation, Want: refused, Try: file(utf16(partOfName), `tr -d '\000'`)},
			attack.Row{Name: "hidden-name-in-base64", Isolation: isolation, Want: refused, Try: file(base64.StdEncoding.EncodeToString([]byte(partOfName)), "base64 -d")},
			attack.Row{Name: "hidden-name-in-archive", Isolation: isolation, Want: refused, Try: file(testkit.Gzip(testkit.Gzip(partOfName)), "gzip -dc | gzip -dc")},
			attack.Row{Name: "hidden-name-in-notebook", Isolation: isolation, Want: refused, Try: file(`{"cells": [{"source": "from \u0071uagmire"}]}`, `python3 -c "import json; print(json.load(open('/data/notes.dat')))"`)},
			attack.Row{Name: "hidden-name-in-history", Isolation: isolation, Want: refused, Try: func(t *testing.T, defended bool) error {
				git := testsource.NewGit(t, "")
				git.Commit("past", map[string]string{"a.txt": partOfName})
				git.Commit("past", map[string]string{"a.txt": "nothing"})
				return fromInside(t, defended, isolation, ", "+git.Reached()+", repos: ['"+git.URL+"/past.git']", nil, nil, "cp -r /workspace/past /dev/shm/p && cd /dev/shm/p && git -c safe.directory='*' log -p --all")
			}},
			attack.Row{Name: "hidden-name-copied-later", Isolation: isolation, Want: refused, Try: func(t *testing.T, defended bool) error {
				return fromInside(t, defended, isolation, "", map[string]string{"late.txt": partOfName}, func(s *engine.Sandbox, dir string) error {
					return s.Upload(t.Context(), filepath.Join(dir, "late.txt"), "/workspace/late.txt")
				}, "cat /workspace/late.txt")
			}},
			attack.Row{Name: "hidden-name-from-standard-input", Isolation: isolation, Want: refused, Try: func(t *testing.T, defended bool) error {
				return fromInside(t, defended, isolation, "", nil, func(s *engine.Sandbox, _ string) error {
					return s.WriteFrom(t.Context(), "/workspace/in.gz", strings.NewReader(testkit.Gzip(partOfName)), 0o644)
				}, "gzip -dc /workspace/in.gz")
			}},
			attack.Row{Name: "hidden-name-served-later", Isolation: isolation, Want: refused, Try: func(t *testing.T, defended bool) error {
				code := "@expose\ndef about() -> str:\n    return '" + partOfName + "'\n"
				return fromInside(t, defended, isolation, "", map[string]string{"about.py": code}, func(s *engine.Sandbox, dir string) error {
					_, err := s.Serve(t.Context(), engine.ServeOptions{File: filepath.Join(dir, "about.py")})
					return err
				}, "cat /proc/[0-9]*/cmdline; grep -rs Quagmire /seer /tmp || echo Quagmire # as the function says")
			}},
		)
	}
	rows = append(rows, attack.Row{Name: "hidden-model-by-folder-of-mount", Isolation: "bubblewrap", Want: "the folders of two starts are not the same", Try: byFolder})
	attack.Run(t, rows)
}

// fromInside starts a sandbox with a hidden model, brings something into it, and lets its
// agent read the name.
func fromInside(t *testing.T, defended bool, isolation, sandbox string, files map[string]string, later func(s *engine.Sandbox, dir string) error, read string) error {
	t.Helper()
	if isolation == "gvisor" && os.Getenv("SEER_TEST_GVISOR") == "" {
		t.Fatal("set SEER_TEST_GVISOR=1, and build gVisor with scripts/setup")
	}
	e := newEngine(t, func(o *engine.Options) {
		o.Trust = trust.All
		if isolation == "gvisor" {
			tools(t, o)
		}
	})
	if !defended {
		e.SearchNothing()
	}
	exp := hidden(t, "execution_mode: cli, network: none, isolation: "+isolation+sandbox, "", files)
	s, err := e.Up(t.Context(), exp, engine.UpOptions{Attached: time.Minute})
	if err != nil {
		return wanted(t, err)
	}
	t.Cleanup(func() { _ = s.Terminate(context.Background()) })
	if later != nil {
		if err := later(s, filepath.Dir(exp.File)); err != nil {
			return wanted(t, err)
		}
	}
	var out bytes.Buffer
	if _, err := s.Exec(t.Context(), protocol.ProcessSpec{Shell: read}, nil, &out, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.ToLower(out.String()), "quag"+"mire") {
		return fmt.Errorf("the agent read %q", out.String())
	}
	return nil
}

// wanted ends the test where an error is not that of a name that was found.
func wanted(t *testing.T, err error) error {
	t.Helper()
	var found *engine.HiddenError
	if !errors.As(err, &found) {
		t.Fatal(err)
	}
	return err
}

// byFolder recognizes a model by the folder that the list of mounts shows: computed once
// for the model, it would be the same on every computer.
func byFolder(t *testing.T, defended bool) error {
	exp := hidden(t, "execution_mode: cli, network: none", "", nil)
	shown := func() string {
		e := newEngine(t, func(o *engine.Options) { o.CacheDir = cacheDir(t) })
		if !defended {
			e.NameFoldersByContent()
		}
		s := up(t, e, exp, engine.UpOptions{Attached: time.Minute})
		found := regexp.MustCompile(`/veiled/([0-9a-f]{40})`).FindStringSubmatch(shell(t, s, "cat /proc/self/mountinfo"))
		if found == nil {
			t.Fatal("the list of mounts shows no blinded folder")
		}
		return found[1]
	}
	if one, two := shown(), shown(); one != two {
		return errors.New("the folders of two starts are not the same")
	}
	return nil
}

// What has nothing to do with a hidden model's name may be brought later.
func TestHiddenModelAndOrdinaryFiles(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	exp := hidden(t, "execution_mode: cli, network: none", "", map[string]string{
		"ok.txt": "a 9b model, of the llama family", "deep/quagmire.txt": "x", "interface.py": "@expose\ndef f() -> int:\n    return 1\n",
	})
	s := up(t, e, exp, engine.UpOptions{Attached: time.Minute})
	dir := filepath.Dir(exp.File)
	if err := s.Upload(t.Context(), filepath.Join(dir, "ok.txt"), "/workspace/ok.txt"); err != nil {
		t.Error(err)
	}
	if _, err := s.Serve(t.Context(), engine.ServeOptions{File: filepath.Join(dir, "interface.py")}); err != nil {
		t.Error(err)
	}
	var found *engine.HiddenError
	if err := s.Upload(t.Context(), filepath.Join(dir, "deep"), "/workspace/deep"); !errors.As(err, &found) || len(found.Places) != 1 || !strings.HasSuffix(found.Places[0], "deep/quagmire.txt") {
		t.Errorf("a name of a file: %v", err)
	}
	if err := s.WriteFile(t.Context(), "/workspace/quagmire.txt", nil, 0o600); !errors.As(err, &found) {
		t.Errorf("a name of a place: %v", err)
	}
	if _, err := s.Serve(t.Context(), engine.ServeOptions{File: filepath.Join(dir, "interface.py"), Name: "quagmire_tools"}); !errors.As(err, &found) {
		t.Errorf("a name of a service: %v", err)
	}
}
