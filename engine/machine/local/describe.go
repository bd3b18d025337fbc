package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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
	if kind != isolation.GVisor {
		return isolation.Choose(ctx, asked)
	}
	if p.remembered() {
		return isolation.Choice{Kind: kind}, nil
	}
	choice, err := isolation.Choose(ctx, asked, p.Places...)
	if err == nil {
		p.remember()
	}
	return choice, err
}

// A trial of gVisor takes the third of a second, which is longer than a start in
// bubblewrap. That it worked is remembered: when it no longer does, a start fails with
// the same words.
const trialKept = 7 * 24 * time.Hour

// trial is where that is kept, and what of: this runsc, this user, until the computer
// is started again.
func (p *provider) trial() (file, content string) {
	file = filepath.Join(p.Dir, "gvisor-works")
	for _, dir := range p.Places {
		if info, err := os.Stat(filepath.Join(dir, "runsc")); err == nil {
			return file, fmt.Sprintf("%s %d %q %d %d", proc.BootID(), os.Geteuid(), dir, info.Size(), info.ModTime().UnixNano())
		}
	}
	return file, ""
}

func (p *provider) remembered() bool {
	file, want := p.trial()
	info, err := os.Stat(file)
	if err != nil || want == "" || time.Since(info.ModTime()) > trialKept {
		return false
	}
	have, err := os.ReadFile(file)
	return err == nil && string(have) == want
}

func (p *provider) remember() {
	file, content := p.trial()
	if content == "" {
		return // a runsc of the system, of which nothing is known here
	}
	if err := os.MkdirAll(p.Dir, 0o700); err == nil {
		_ = os.WriteFile(file, []byte(content), 0o600) // without it the next trial is made
	}
}
