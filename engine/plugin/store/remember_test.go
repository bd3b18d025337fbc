package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAChangedFileIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	one, two, link := filepath.Join(dir, "one"), filepath.Join(dir, "two"), filepath.Join(dir, "link")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(one, "a")
	if err := os.Symlink(one, link); err != nil { // as those have it who keep their configuration elsewhere
		t.Fatal(err)
	}
	var r remembered[string]
	reads := 0
	read := func() (string, error) {
		reads++
		a, err := os.ReadFile(one)
		b, _ := os.ReadFile(two)
		return string(a) + string(b), err
	}
	later := time.Now().Add(time.Hour) // nothing is new then
	for _, step := range []struct {
		name   string
		now    time.Time
		change func()
		want   string
		reads  int
	}{
		{"first", later, func() {}, "a", 1},
		{"again", later, func() {}, "a", 1},
		{"longer", later, func() { write(one, "ab") }, "ab", 2},
		{"same length, another file", later, func() { write(one+".new", "cd"); os.Rename(one+".new", one) }, "cd", 3},
		{"mode", later, func() { os.Chmod(one, 0o640) }, "cd", 4},
		{"a second file", later, func() { write(two, "!") }, "cd!", 5},
		{"again", later, func() {}, "cd!", 5},
		{"just written", time.Now(), func() { write(one, "ef") }, "ef!", 6},
		{"just written still", time.Now(), func() {}, "ef!", 7},
		{"it is gone", later, func() { os.Remove(two) }, "ef", 8},
		{"again", later, func() {}, "ef", 8},
	} {
		step.change()
		got, err := r.get(step.now, [2]string{link, two}, read)
		if got != step.want || err != nil || reads != step.reads {
			t.Errorf("%s: %q, %v after %d reads", step.name, got, err, reads)
		}
	}
	// A failure is not remembered.
	os.Remove(one)
	for range 2 {
		if _, err := r.get(later, [2]string{link, two}, read); !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	}
	if reads != 10 {
		t.Errorf("%d reads", reads)
	}
}
