package sdktest

import (
	"context"
	"slices"

	"github.com/seer-engine/seer/sdk"
)

// wish is a part of a spec that a backend may not have.
type wish struct {
	part    Part
	feature sdk.Feature // with it, the part is not tried
	name    string
	ask     func(*sdk.MachineSpec)
}

func wishes() []wish {
	return []wish{
		{PartDisk, "", "DiskGB", func(s *sdk.MachineSpec) { s.DiskGB = 77 }},
		{PartPorts, "", "Ports", func(s *sdk.MachineSpec) { s.Ports = []int{9090} }},
		{PartImage, sdk.FeatureBuild, "Image.Base", func(s *sdk.MachineSpec) { s.Image = &sdk.Image{Base: "example/image:1"} }},
		{PartPython, sdk.FeatureBuild, "Image.PythonVersion", func(s *sdk.MachineSpec) { s.Image = &sdk.Image{PythonVersion: "3.12"} }},
		{PartVolumes, sdk.FeatureVolumes, "Volumes", func(s *sdk.MachineSpec) { s.Volumes = []sdk.Volume{{Name: "seer-test", Path: "/data"}} }},
		{PartMounts, sdk.FeatureHostMounts, "Mounts", func(s *sdk.MachineSpec) { s.Mounts = []sdk.Mount{{Source: "/srv/seer-test", Target: "/mnt"}} }},
		{PartNetwork, "", "Network none", func(s *sdk.MachineSpec) { s.Network = "none" }},
		{"", "", "Isolation no-such-isolation", func(s *sdk.MachineSpec) { s.Isolation = "no-such-isolation" }},
	}
}

func (l *lab) createUnsupported(ctx context.Context, t *trial) {
	info, err := l.open().Describe(ctx)
	if !t.try("Describe", err) {
		return
	}
	for _, w := range wishes() {
		if w.part != "" && slices.Contains(l.kit.Supports, w.part) || w.feature != "" && info.Has(w.feature) {
			continue
		}
		hint := "unsupported was expected"
		if w.part != "" {
			hint += `; if the backend can do it, name "` + string(w.part) + `" in Supports of the kit, or in supports: of conformance.yaml`
		}
		spec := l.spec(ctx, l.owner())
		w.ask(&spec)
		l.refuses(ctx, t, spec, w.name, hint, sdk.Unsupported)
	}
}

func (l *lab) createUnknownOption(ctx context.Context, t *trial) {
	spec := l.spec(ctx, l.owner())
	spec.Options = l.strangeOption()
	l.refuses(ctx, t, spec, "the option no_such_option_of_seer", "invalid was expected", sdk.Invalid)
}

func (l *lab) createUnknownOffer(ctx context.Context, t *trial) {
	spec := l.spec(ctx, l.owner())
	spec.Offer = "no-such-offer-of-seer"
	l.refuses(ctx, t, spec, "the offer no-such-offer-of-seer", "invalid, not_found, no_capacity or unsupported was expected",
		sdk.Invalid, sdk.NotFound, sdk.NoCapacity, sdk.Unsupported)
}

// refuses wants an error with one of the codes, and nothing rented.
func (l *lab) refuses(ctx context.Context, t *trial, spec sdk.MachineSpec, what, hint string, codes ...sdk.Code) {
	defer l.end(ctx, t, spec.Owner)
	_, err := (&creation{l: l, spec: spec}).finish(ctx)
	if isDefect(err) || !slices.Contains(codes, sdk.CodeOf(err)) {
		t.failf("asked for %s: %s; %s", what, describe(err), hint)
	}
	live, err := l.live(ctx, spec.Owner)
	if err != nil {
		t.failf("List: %s", describe(err))
	}
	if len(live) > 0 {
		t.failf("asked for %s, and rented: %s; check before anything is asked of the backend", what, number(len(live), "machine"))
	}
}

func (l *lab) createNoCapacity(ctx context.Context, t *trial) {
	if l.kit.SoldOut == nil {
		t.skipf("only the kit in go test can tell the simulator that nothing is free: ProviderKit.SoldOut")
		return
	}
	spec := l.spec(ctx, l.owner()) // of an offer that somebody else takes now
	restore := l.kit.SoldOut()
	defer restore()
	l.refuses(ctx, t, spec, "a machine while none is free", "no_capacity was expected, so that Seer takes the next choice", sdk.NoCapacity)
}
