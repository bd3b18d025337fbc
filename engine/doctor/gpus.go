package doctor

import (
	"context"
	"fmt"
	"sync"

	"github.com/seer-engine/seer/engine/gpulease"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/internal/text"
	"github.com/seer-engine/seer/sdk"
)

// checkGPUs says who uses the GPUs of this computer, and makes calls of CUDA in each isolation
// that works. A computer without GPUs has no findings.
func (d *Doctor) checkGPUs(ctx context.Context) []Finding {
	set, err := d.GPUs(ctx)
	if err != nil {
		return []Finding{{Name: gpuName, Detail: "cannot be looked at", Fix: err.Error()}}
	}
	if set.Reason != "" {
		return []Finding{{Name: gpuName, Detail: "cannot be used", Fix: set.Reason}}
	}
	if len(set.Found) == 0 {
		return nil
	}
	var findings []Finding
	for _, why := range set.Divided {
		findings = append(findings, Finding{Name: gpuName, Detail: "cannot be used", Fix: why})
	}
	uses, err := d.gpuUses(ctx)
	if err != nil {
		findings = append(findings, Finding{Name: gpuName, Detail: "cannot be shared", Fix: err.Error()})
	}
	for _, u := range uses {
		f := Finding{Name: fmt.Sprintf("%s %d", gpuName, u.Index), OK: u.Fault == "", Detail: u.Name + ", " + text.Bytes(u.Memory)}
		switch by := u.By(); {
		case !f.OK:
			f.Fix = by
		case by != "":
			f.Detail += ", used by: " + by
		}
		findings = append(findings, f)
	}
	return append(findings, d.tryGPUs(ctx, set)...)
}

func (d *Doctor) gpuUses(ctx context.Context) ([]gpulease.Use, error) {
	p, err := d.Local()
	if err != nil {
		return nil, err
	}
	gpus, ok := p.(local.GPUs)
	if !ok { // another provider stands in for this computer
		return nil, nil
	}
	uses, _, err := gpus.GPUUses(ctx, sdk.MachineSpec{})
	return uses, err
}

// tryGPUs makes calls of CUDA in each isolation that works.
func (d *Doctor) tryGPUs(ctx context.Context, set isolation.GPUSet) []Finding {
	python, err := d.Python.Default()
	if err != nil {
		return nil // said already
	}
	var kinds []string
	for _, i := range isolation.Detect(ctx, d.Paths.ToolPlaces()...) {
		if i.Usable {
			kinds = append(kinds, i.Name)
		}
	}
	findings := make([]Finding, len(kinds))
	var all sync.WaitGroup
	for n, kind := range kinds {
		all.Go(func() {
			findings[n] = Finding{Name: gpuName + " in " + kind, OK: true, Detail: "CUDA works"}
			if err := isolation.TryGPU(ctx, kind, set, python, d.Paths.ToolPlaces()...); err != nil {
				findings[n] = Finding{Name: gpuName + " in " + kind, Detail: "CUDA does not work", Fix: err.Error()}
			}
		})
	}
	all.Wait()
	return findings
}
