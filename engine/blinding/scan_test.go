package blinding_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/blinding"
	"github.com/seer-engine/seer/engine/cachegc"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/event/eventtext"
	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/state"
)

// A scan joins what the program in the sandbox has found with what the prepared Python
// shows.
func TestScan(t *testing.T) {
	t.Parallel()
	names := namesearch.Compile(namesearch.Spec{Names: []string{"acme/Quagmire_9B"}})
	for _, c := range []struct {
		answer, python string
		exit           int
		places         []string
		fails          string
	}{
		{answer: `{}`, python: "noise\n" + `{"environment": "nothing"}`},
		{answer: `{"places": ["the file /tmp/a"]}`, python: `{"environment": "of quagmire"}`, places: []string{"the file /tmp/a", "environment in the prepared Python"}},
		{answer: `{}`, python: "no JSON", fails: "search the prepared kernel"},
		{answer: `{}`, python: `{}`, exit: 2, fails: "exit code 2"},
	} {
		var told []string
		scan := blinding.Scan{Names: names, Isolated: true, Report: event.NewReporter("", event.SourceEngine, time.Now, func(e event.Event) { told = append(told, eventtext.Sentence(e)) })}
		err := scan.Search(t.Context(), blinding.Sandbox{
			Exec: func(_ context.Context, spec protocol.ProcessSpec, stdin io.Reader, stdout, _ io.Writer) (protocol.Process, error) {
				if !spec.Stdin || stdin == nil {
					t.Error("the program is not told what to look for")
				}
				_, err := fmt.Fprint(stdout, c.answer)
				return protocol.Process{ExitCode: c.exit}, err
			},
			Python: func(context.Context, string) (string, error) { return c.python, nil },
		})
		var found *blinding.HiddenError
		switch {
		case c.fails != "":
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%+v: %v", c, err)
			}
		case c.places != nil:
			if !errors.As(err, &found) || !slices.Equal(found.Places, c.places) || errdefs.KindOf(err) != errdefs.KindConfig {
				t.Errorf("%+v: %v", c, err)
			}
		case err != nil || len(told) != 2 || !strings.HasPrefix(told[1], "found no name"):
			t.Errorf("%+v: %v, %q", c, err, told)
		}
	}
}

// The same folder is copied once, and again when it has changed.
func TestCopiesAreFoundAgain(t *testing.T) {
	t.Parallel()
	store, err := state.Open(state.Options{StateDir: t.TempDir(), CacheDir: t.TempDir(), RuntimeDir: filepath.Join(t.TempDir(), "run"), Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	model := t.TempDir()
	config := filepath.Join(model, "config.json")
	write := func(text string) {
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"model_type": "llama", "_name_or_path": "acme/Quagmire_9B"}`)
	copies := blinding.Copies{Store: store, Now: time.Now}
	names := namesearch.Compile(namesearch.Spec{Names: []string{"acme/Quagmire_9B"}})
	of := func() string {
		dir, _, err := copies.Of(t.Context(), model, names)
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	began := time.Now()
	first := of()
	if items, err := copies.Items(t.Context(), &cachegc.References{}); err != nil || len(items) != 1 || items[0].Last.Before(began.Truncate(time.Second)) {
		t.Errorf("a copy that was just made counts as unused: %+v, %v", items, err)
	}
	if data, err := os.ReadFile(filepath.Join(first, "config.json")); err != nil || strings.Contains(string(data), "Quagmire") {
		t.Errorf("%s, %v", data, err)
	}
	if again := of(); again != first {
		t.Errorf("copied again: %s, %s", first, again)
	}
	write(`{"model_type": "llama", "hidden_size": 8}`)
	if changed := of(); changed == first {
		t.Error("a changed folder has the copy of the former one")
	}
	if err := os.RemoveAll(first); err != nil {
		t.Fatal(err)
	}
	items, err := copies.Items(t.Context(), &cachegc.References{})
	if err != nil || len(items) != 1 {
		t.Errorf("%+v, %v", items, err)
	}
}
