package local

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local/proc"
	"github.com/seer-engine/seer/sdk"
)

// Describe tells which isolation works on this computer, and which GPUs it has.
func (p *provider) Describe(ctx context.Context) (sdk.ProviderInfo, error) {
	info := sdk.ProviderInfo{Name: Name, Title: "this computer", Features: []sdk.Feature{sdk.FeatureSelfEnd, sdk.FeatureHostMounts}}
	for _, kind := range []string{isolation.Bubblewrap, isolation.GVisor} {
		found := sdk.Isolation{Name: kind}
		p.proven.Delete(kind)
		if _, err := p.choose(ctx, kind); err != nil {
			_, found.Reason, _ = strings.Cut(err.Error(), ": ")
		} else {
			p.proven.Store(kind, true)
			found.Usable = true
		}
		info.Isolations = append(info.Isolations, found)
	}
	info.Isolations = append(info.Isolations, sdk.Isolation{Name: isolation.None, Usable: true})
	if info.Isolations[1].Usable {
		info.Features = append(info.Features, sdk.FeatureSnapshot)
	}
	if set, err := p.GPUs(ctx); err == nil { // who asks for one is told the error by Offers
		info.GPUs = gpuNames(set)
	}
	return info, nil
}

// choose spares the trial of a kind that has just been made.
func (p *provider) choose(ctx context.Context, asked string) (isolation.Choice, error) {
	kind := asked
	if asked == "" || asked == isolation.Auto {
		kind = isolation.Bubblewrap
	}
	if _, ok := p.proven.Load(kind); ok {
		return isolation.Choice{Kind: kind}, nil
	}
	if p.remembered(kind) {
		return isolation.Choice{Kind: kind}, nil
	}
	choice, err := isolation.Choose(ctx, asked, p.Places...)
	if err == nil && choice.Kind == kind {
		p.remember(kind)
	}
	return choice, err
}

// A trial of gVisor takes the third of a second, one of bubblewrap some hundredths. That it
// worked is remembered: when it no longer does, a start fails with the same words, and the
// next one makes the trial again.
const trialKept = 7 * 24 * time.Hour

// trial is where that is kept, and what of: this program, this user, until the computer
// is started again.
func (p *provider) trial(kind string) (file, content string) {
	file = filepath.Join(p.Dir, kind+"-works")
	program := ""
	switch kind {
	case isolation.Bubblewrap:
		program, _ = exec.LookPath("bwrap")
	case isolation.GVisor: // of one of the system, nothing is known here
		for _, dir := range slices.Backward(p.Places) {
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

func (p *provider) remembered(kind string) bool {
	file, want := p.trial(kind)
	info, err := os.Stat(file)
	if err != nil || want == "" || time.Since(info.ModTime()) > trialKept {
		return false
	}
	have, err := os.ReadFile(file)
	return err == nil && string(have) == want
}

func (p *provider) remember(kind string) {
	file, content := p.trial(kind)
	if content == "" {
		return
	}
	if err := os.MkdirAll(p.Dir, 0o700); err == nil {
		_ = os.WriteFile(file, []byte(content), 0o600) // without it the next trial is made
	}
}

func (p *provider) forgetTrial(kind string) {
	p.proven.Delete(kind)
	file, _ := p.trial(kind)
	_ = os.Remove(file)
}
