package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/remedy"
)

// TestEveryRemedyHasAHint renders each action, and none of them twice the same way.
func TestEveryRemedyHasAHint(t *testing.T) {
	seen := map[string]remedy.Action{}
	for _, action := range remedy.Actions() {
		hint := Hint(remedy.Remedy{Action: action, Sandbox: "sb-1", Port: "jupyter", Field: "outputs", Plugin: "expose-v1",
			Folder: "/my plugins", Signer: "SHA256:abc", Hash: "sha256:0123"})
		if !strings.HasPrefix(hint, "seer ") && !strings.HasPrefix(hint, "--") {
			t.Errorf("%s has the hint %q", action, hint)
		}
		if other, taken := seen[hint]; taken {
			t.Errorf("%s and %s have the hint %q", action, other, hint)
		}
		seen[hint] = action
	}
	for hint, r := range map[string]remedy.Remedy{
		"seer down sb-1":                           {Action: remedy.EndSandbox, Sandbox: "sb-1"},
		"seer down ID":                             {Action: remedy.EndSandbox},
		"seer up FILE --snapshot NAME":             {Action: remedy.StartSandbox, Snapshot: "NAME"},
		"seer forward sb-1 jupyter":                {Action: remedy.ForwardPort, Sandbox: "sb-1", Port: "jupyter"},
		"seer plugin repin v1":                     {Action: remedy.AcceptSigner, Plugin: "v1"},
		"seer plugin repin v1 --signer SHA256:abc": {Action: remedy.AcceptSigner, Plugin: "v1", Signer: "SHA256:abc"},
		"seer plugin grant --folder '/my plugins'": {Action: remedy.GrantFolder, Folder: "/my plugins"},
		"seer plugin install --lock '/my plugins'": {Action: remedy.InstallLocked, Folder: "/my plugins"},
		"--set workspace.dir=FOLDER":               {Action: remedy.SetFolder, Field: "workspace.dir"},
		"":                                         {Action: "unknown"},
	} {
		if got := Hint(r); got != hint {
			t.Errorf("%+v has the hint %q, not %q", r, got, hint)
		}
	}
}

// TestHints shows the hints of an error that is wrapped and joined, below its text and
// under --json.
func TestHints(t *testing.T) {
	err := fmt.Errorf("start: %w", errors.Join(errors.New("first"), &machine.ConflictError{Name: "lab", ID: "sb-1"}))
	if got := message(err); !strings.HasSuffix(got, "end that sandbox first\nhint: seer down sb-1") {
		t.Error(got)
	}
	var shown struct {
		Error struct {
			Message string
			Hints   []string
		}
	}
	if e := json.Unmarshal([]byte(reported(t, err)), &shown); e != nil || len(shown.Error.Hints) != 1 || shown.Error.Hints[0] != "seer down sb-1" ||
		strings.Contains(shown.Error.Message, "hint") {
		t.Errorf("%+v, %v", shown, e)
	}
	typed := experiment.Errors{{Set: "sandbox.gpu", Path: "sandbox.gpu", Message: "no such GPU", Remedies: []remedy.Remedy{{Action: remedy.ShowOffers}}}}
	if got := message(typed); got != "--set sandbox.gpu: no such GPU\nhint: seer offers" {
		t.Error(got)
	}
}

// TestWarningNamesSet: a warning about an override names the flag that the user typed.
func TestWarningNamesSet(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		shown := written(t, func(a *App) {
			a.JSON = asJSON
			if err := a.SetUp(); err != nil {
				t.Fatal(err)
			}
			a.UI.Progress(engine.Event{Data: event.PreflightWarning{Message: "override sandbox.region: has no effect here"}})
		})
		if !strings.Contains(shown, "--set sandbox.region: has no effect here") {
			t.Errorf("%q", shown)
		}
	}
}

// reported is what is written about err under --json.
func reported(t *testing.T, err error) string {
	t.Helper()
	return written(t, func(a *App) { a.JSON = true; a.Report(err, 1) })
}

// written is what a program writes to stderr.
func written(t *testing.T, act func(*App)) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	act(New(os.Stdin, os.Stdout, file, Build{}))
	data, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
