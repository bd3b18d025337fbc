package local

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local/proc"
	"github.com/seer-engine/seer/engine/netproxy"
)

// trials know what works on this computer: kinds of isolation, and what connects networks.
type trials struct {
	dir    string   // of the provider; what worked is noted there
	places []string // where runsc is looked for first

	detectUplink func(ctx context.Context) (string, error)
	proven       sync.Map // what has been seen to work: kind of isolation, or uplinkTool → its name
}

const uplinkTool = "uplink"

// choose spares the trial of a kind that has just been made.
func (t *trials) choose(ctx context.Context, asked string) (isolation.Choice, error) {
	kind := asked
	if asked == "" || asked == isolation.Auto {
		kind = isolation.Bubblewrap
	}
	if _, ok := t.proven.Load(kind); ok {
		return isolation.Choice{Kind: kind}, nil
	}
	if t.remembered(kind) {
		return isolation.Choice{Kind: kind}, nil
	}
	choice, err := isolation.Choose(ctx, asked, t.places...)
	if err == nil && choice.Kind == kind {
		t.remember(kind)
	}
	return choice, err
}

// A trial of gVisor takes the third of a second, one of bubblewrap some hundredths. That it
// worked is remembered: when it no longer does, a start fails with the same words, and the
// next one makes the trial again.
const trialKept = 7 * 24 * time.Hour

// file is where that is kept, and what of: this program, this user, until the computer
// is started again.
func (t *trials) file(kind string) (file, content string) {
	file = filepath.Join(t.dir, kind+"-works")
	program := ""
	switch kind {
	case isolation.Bubblewrap:
		program, _ = exec.LookPath("bwrap")
	case isolation.GVisor: // of one of the system, nothing is known here
		for _, dir := range slices.Backward(t.places) {
			if path := filepath.Join(dir, "runsc"); isFile(path) {
				program = path
			}
		}
	}
	info, err := os.Stat(program)
	if err != nil {
		return file, ""
	}
	return file, fmt.Sprintf("%s %d %q %d %d", proc.BootID(), os.Geteuid(), program, info.Size(), info.ModTime().UnixNano())
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func (t *trials) remembered(kind string) bool {
	file, want := t.file(kind)
	info, err := os.Stat(file)
	if err != nil || want == "" || time.Since(info.ModTime()) > trialKept {
		return false
	}
	have, err := os.ReadFile(file)
	return err == nil && string(have) == want
}

func (t *trials) remember(kind string) {
	file, content := t.file(kind)
	if content == "" {
		return
	}
	if err := os.MkdirAll(t.dir, 0o700); err == nil {
		_ = os.WriteFile(file, []byte(content), 0o600) // without it the next trial is made
	}
}

func (t *trials) forget(kind string) {
	t.proven.Delete(kind)
	file, _ := t.file(kind)
	_ = os.Remove(file)
}

// uplink finds what connects a machine with the network open; see [Network].
func (t *trials) uplink(ctx context.Context) (string, error) {
	if tool, ok := t.proven.Load(uplinkTool); ok {
		return tool.(string), nil
	}
	if tool, ok := t.rememberedUplink(); ok {
		t.proven.Store(uplinkTool, tool)
		return tool, nil
	}
	tool, err := t.detectUplink(ctx)
	if err != nil {
		return "", err
	}
	t.proven.Store(uplinkTool, tool)
	if err := os.MkdirAll(t.dir, 0o700); err == nil {
		_ = os.WriteFile(t.uplinkFile(), []byte(uplinkTrial(tool)), 0o600) // without it the next trial is made
	}
	return tool, nil
}

// A trial takes as long as much of a start. That one worked is remembered, as gVisor's is:
// of these programs, this user, until the computer is started again or a machine cannot be
// connected.
func (t *trials) rememberedUplink() (string, bool) {
	info, err := os.Stat(t.uplinkFile())
	if err != nil || time.Since(info.ModTime()) > trialKept {
		return "", false
	}
	have, err := os.ReadFile(t.uplinkFile())
	tool, _, _ := strings.Cut(string(have), " ")
	return tool, err == nil && netproxy.UplinkTools(tool) != "" && string(have) == uplinkTrial(tool)
}

func (t *trials) forgetUplink() {
	t.proven.Delete(uplinkTool)
	_ = os.Remove(t.uplinkFile())
}

func (t *trials) uplinkFile() string { return filepath.Join(t.dir, "uplink-works") }

func uplinkTrial(tool string) string {
	return fmt.Sprintf("%s %s %d %s", tool, proc.BootID(), os.Geteuid(), netproxy.UplinkTools(tool))
}
