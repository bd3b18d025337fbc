package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/sdk"
)

// machines does in the place of machines what saves a file system.
type machines func(m Machine) error

func (f machines) Run(_ context.Context, m Machine, _ func(context.Context, *client.Client, machine.Record) error) error {
	return f(m)
}

// saving is a build of a file system, the note of it, and the two files that the machine saves.
func saving(t *testing.T, run func(note string, m Machine) error) (b *building, note string, files []string) {
	t.Helper()
	builder, cache := newBuilder(t)
	saved := filepath.Join(builder.Store.StateDir(), "local", "saved")
	for _, ext := range []string{".tar", ".json"} {
		files = append(files, old(t, saved, strings.Repeat("a", 80)+ext, "saved"))
	}
	note = filepath.Join(cache, rootFSDir, "one.json")
	if err := os.MkdirAll(filepath.Dir(note), 0o700); err != nil {
		t.Fatal(err)
	}
	return &building{Installation: &Installation{builder: builder}, machines: machines(func(m Machine) error { return run(note, m) })}, note, files
}

var wanted = sdk.Image{SystemPackages: []string{"hello"}}

const savedName = savedPrefix + "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// A saved system is noted while its machine lives, so that one whose machine cannot be ended
// is used by the next start, and pruned when it is old.
func TestASavedSystemIsNotedAtOnce(t *testing.T) {
	t.Parallel()
	cannotEnd := errors.New("the machine cannot be ended")
	b, note, files := saving(t, func(note string, m Machine) error {
		err := m.Saved(savedName)
		if ref, readErr := readRootFS(note); ref != savedName || readErr != nil {
			t.Errorf("before the machine ends, the note has %q, %v", ref, readErr)
		}
		return errors.Join(err, cannotEnd)
	})
	if ref, err := b.savedRootFS(t.Context(), wanted, note); ref != "" || !errors.Is(err, cannotEnd) {
		t.Errorf("%q, %v", ref, err)
	}
	if ref, err := b.savedRootFS(t.Context(), wanted, note); ref != savedName || err != nil {
		t.Errorf("the next start: %q, %v", ref, err)
	}
	old(t, note, `{"snapshot":"`+savedName+`"}`)
	if done, err := prune(t.Context(), b.builder); err != nil || len(done) != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	if left := existing(files); len(left) > 0 {
		t.Errorf("pruning leaves %s", left)
	}
}

// A saved system that cannot be noted does not stay, but for what another note has, too.
func TestASavedSystemWithoutANoteGoes(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		b, note, files := saving(t, func(note string, m Machine) error {
			if shared {
				old(t, filepath.Dir(note), "other.json", `{"snapshot":"`+savedName+`"}`)
			}
			if err := os.Mkdir(note, 0o700); err != nil { // no file can take its place
				t.Error(err)
			}
			return m.Saved(savedName)
		})
		if ref, err := b.savedRootFS(t.Context(), wanted, note); ref != "" || err == nil {
			t.Errorf("%q, %v", ref, err)
		}
		if left := existing(files); (len(left) > 0) != shared {
			t.Errorf("shared with another note: %v; %s", shared, left)
		}
	}
}

// existing are those of the files that there are.
func existing(files []string) (left []string) {
	for _, file := range files {
		if _, err := os.Lstat(file); err == nil {
			left = append(left, file)
		}
	}
	return left
}
