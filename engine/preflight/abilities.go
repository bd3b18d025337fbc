package preflight

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/sdk"
)

// abilities checks that each provider can do what the experiment asks of its
// machine. One of several that cannot is a mistake as well: which of them it will
// be is known only when the machine is there.
func (c machineCheck) abilities() {
	for _, p := range c.candidates {
		c.endsByItself(p)
		c.longEnough(p)
		c.image(p)
		c.volumes(p)
		c.gpuShare(p)
		if p.thisComputer() {
			c.withoutEffect(p)
		}
	}
}

func (c machineCheck) endsByItself(p *candidate) {
	if p.Has(sdk.FeatureSelfEnd) || p.thisComputer() {
		return
	}
	problem := fmt.Sprintf("provider `%s` cannot end its machines by itself: a forgotten one costs money until you end it", p.Name)
	if c.facts.Unguarded {
		c.warn(p.at, problem, "look after it until it has ended", remedy.Remedy{Action: remedy.ListSandboxes}, remedy.Remedy{Action: remedy.CollectGarbage})
		return
	}
	c.fail(p.at, problem, "use another provider, or allow one that is unguarded", remedy.Remedy{Action: remedy.AllowUnguarded})
}

func (c machineCheck) longEnough(p *candidate) {
	limit := time.Duration(p.MaxTimeoutSeconds) * time.Second
	if limit > 0 && c.exp.Sandbox.Timeout > limit {
		c.fail("sandbox.timeout", fmt.Sprintf("provider `%s` keeps a machine for %s at most", p.Name, Duration(limit)), "make it shorter")
	}
}

func (c machineCheck) gpuShare(p *candidate) {
	if c.exp.Sandbox.GPUShare != nil && !p.Has(sdk.FeatureGPUShare) {
		c.fail("sandbox.gpu_share", fmt.Sprintf("provider `%s` rents whole GPUs", p.Name), "remove gpu_share, or use another provider")
	}
}

// image checks what the file system of the machine is to be. What a provider does not
// build is installed by the engine.
func (c machineCheck) image(p *candidate) {
	s, image := c.exp.Sandbox, c.exp.Sandbox.Image
	if image != nil && path.IsAbs(image.Base) && !p.Has(sdk.FeatureImageFiles) {
		c.fail("sandbox.image.base", fmt.Sprintf("provider `%s` takes images of registries, and this is a path", p.Name),
			"name an image of a registry, such as python:3.12-slim, or use a provider of the host that has the file")
	}
	if p.thisComputer() && !p.Has(sdk.FeatureBuild) {
		c.imageHere(p)
		return
	}
	if changesSystem(s) && len(p.Isolations) > 0 && !p.Has(sdk.FeatureBuild) {
		at := "sandbox.system_packages"
		if len(s.SystemPackages) == 0 {
			at = "sandbox.image.commands"
		}
		c.fail(at, fmt.Sprintf("provider `%s` does not let a sandbox change the system of its machines", p.Name),
			"have it installed on them, or use another provider")
	}
	if image == nil {
		return
	}
	if image.Base != "" && s.Isolation == "none" && len(p.Isolations) > 0 {
		c.fail("sandbox.image", fmt.Sprintf("without isolation a sandbox of provider `%s` has the file system of its machine", p.Name), "set sandbox.isolation to auto, or remove the key")
	}
	if image.Snapshot != "" && !p.Has(sdk.FeatureSnapshot) {
		c.fail("sandbox.image.snapshot", fmt.Sprintf("provider `%s` has no snapshots", p.Name), "use image.base, or another provider")
	}
	if image.Base != "" && s.PythonVersion != "" && !p.Has(sdk.FeatureBuild) {
		c.fail("sandbox.python_version", fmt.Sprintf("provider `%s` takes an image as it is, with the Python that it has", p.Name), "remove image.base or python_version")
	}
}

// changesSystem reports whether a sandbox needs a file system that root can change.
func changesSystem(s experiment.Sandbox) bool {
	return len(s.SystemPackages) > 0 || s.Image != nil && len(s.Image.Commands) > 0
}

// imageHere checks what the isolation on this computer can make of a system.
func (c machineCheck) imageHere(p *candidate) {
	s, image := c.exp.Sandbox, c.exp.Sandbox.Image
	if p.isolation == "" { // said already
		return
	}
	if changesSystem(s) && p.isolation != "gvisor" {
		at, why, missing := "sandbox.system_packages", "", []remedy.Remedy(nil)
		if len(s.SystemPackages) == 0 {
			at = "sandbox.image.commands"
		}
		for _, i := range p.Isolations {
			if i.Name == "gvisor" && !i.Usable {
				why, missing = ", which does not work here: "+i.Reason, install(i)
			}
		}
		c.fail(at, fmt.Sprintf("isolation `%s` does not let a sandbox change the system; gvisor does%s", p.isolation, why),
			"set sandbox.isolation to gvisor, name an image that has it in image.base, or use another provider", missing...)
	}
	c.savedHere(p)
	if p.isolation == "none" && image != nil && (image.Base != "" || image.Snapshot != "") {
		c.fail("sandbox.image", "without isolation a sandbox has the file system of this computer", "set sandbox.isolation to auto, or remove the key")
	}
}

// savedHere checks that a system to start from was saved on this computer and is still there.
func (c machineCheck) savedHere(p *candidate) {
	const at, instead = "sandbox.image.snapshot", "start from a snapshot of files"
	files := remedy.Remedy{Action: remedy.StartSandbox, Snapshot: "NAME"}
	image := c.exp.Sandbox.Image
	if image == nil || image.Snapshot == "" || p.Name != localProvider {
		return
	}
	if !strings.HasPrefix(image.Snapshot, "local:sha256:") {
		c.fail(at, fmt.Sprintf("`%s` is not a system that was saved on this computer; such a name begins with local:sha256:", image.Snapshot),
			"name the provider that it is of, or "+instead, files)
		return
	}
	if c.facts.Saved == nil {
		return
	}
	if err := c.facts.Saved(image.Snapshot); err != nil {
		c.fail(at, err.Error(), "save the system again and write the reference that this gives, or "+instead, remedy.Remedy{Action: remedy.SaveImage}, files)
	}
}

func (c machineCheck) volumes(p *candidate) {
	needed := func(v experiment.Volume) bool { return !v.Models || !p.thisComputer() }
	if !slices.ContainsFunc(c.exp.Sandbox.Volumes, needed) || p.Has(sdk.FeatureVolumes) {
		return
	}
	hint := "remove the key, or use another provider"
	if p.thisComputer() {
		hint = "remove the key: models and local_dirs are on this computer anyway"
	}
	c.fail("sandbox.volumes", fmt.Sprintf("provider `%s` has no volumes", p.Name), hint)
}

// withoutEffect warns of what is asked of a machine that is simply there; cpu and memory
// are limits, and the start says so where they cannot be kept.
func (c machineCheck) withoutEffect(p *candidate) {
	s := c.exp.Sandbox
	for _, field := range []struct {
		key  string
		used bool
	}{{"disk", s.DiskGB > 0}, {"region", len(s.Regions) > 0}} {
		if field.used {
			c.warn("sandbox."+field.key, fmt.Sprintf("it has no effect on provider `%s`: the sandbox has what this computer has", p.Name), "")
		}
	}
}

// Duration is a time span as it is written in an experiment: 24h, 1h30m.
func Duration(d time.Duration) string {
	text := d.Round(time.Second).String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}

// USD is an amount of money for people.
func USD(amount float64) string {
	if amount > 0 && amount < 0.01 {
		return fmt.Sprintf("$%.4f", amount)
	}
	return fmt.Sprintf("$%.2f", amount)
}
