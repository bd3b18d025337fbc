package experiment_test

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
)

// FuzzParse: whatever the file holds, there is no panic, the same text gives the
// same answer, and every mistake is at a line of the file.
func FuzzParse(f *testing.F) {
	full, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(full)
	for _, m := range mistakes() {
		f.Add([]byte(m.text))
	}
	for _, s := range seedFields() {
		f.Add([]byte(s.yaml))
	}
	f.Add([]byte("a: &a [*a, {<<: *a}]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		exp, err := experiment.Parse(text, "/lab/e.yaml", experiment.LoadOptions{})
		_, again := experiment.Parse(text, "/lab/e.yaml", experiment.LoadOptions{})
		if (err == nil) != (again == nil) || err != nil && err.Error() != again.Error() {
			t.Fatalf("two answers:\n%v\n%v", err, again)
		}
		if err == nil {
			if exp.Name == "" || exp.Sandbox.Timeout <= 0 {
				t.Fatalf("accepted without defaults: %+v", exp)
			}
			return
		}
		var all experiment.Errors
		if !errors.As(err, &all) {
			t.Fatalf("not Errors: %v", err)
		}
		lines := 1 + bytes.Count(text, []byte("\n"))
		for _, e := range all {
			if e.Line < 1 || e.Line > lines || e.Message == "" {
				t.Fatalf("line %d of %d: %v", e.Line, lines, e)
			}
		}
	})
}

// FuzzSet: an override gives an experiment or a mistake that names it.
func FuzzSet(f *testing.F) {
	for _, set := range []string{"name=x", "serve.0.name=a", "serve.1={file: b.py}", "sandbox.env.A=[", "=", "a.b.c.0=1", "agent=", "serve=&a [*a]"} {
		f.Add(set)
	}
	f.Fuzz(func(t *testing.T, set string) {
		_, err := experiment.Parse([]byte(base), "/lab/e.yaml", experiment.LoadOptions{Set: []string{set}})
		var all experiment.Errors
		if err != nil && !errors.As(err, &all) {
			t.Fatalf("not Errors: %v", err)
		}
	})
}
