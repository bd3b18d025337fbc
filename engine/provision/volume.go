package provision

import (
	"fmt"
	"math"
	"slices"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/fetch/hubcache"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/internal/text"
)

// spare is what a new volume has beyond its files: a file system needs some of it.
const spare = 1.1

// modelVolume is the volume of an experiment that rented machines keep models on; -1 = none.
func modelVolume(exp *experiment.Experiment) int {
	return slices.IndexFunc(exp.Sandbox.Volumes, func(v experiment.Volume) bool { return v.Models })
}

// keptOnVolume reports whether machines that download a model themselves keep it on that volume.
func keptOnVolume(exp *experiment.Experiment, m experiment.Model) bool {
	return m.Source == hubcache.Source && !(m.Hidden && exp.Sandbox.Whole())
}

// sizeVolumeOfPlan does what [SizeVolume] does for a start. The volume of a plan has no size if
// something was not looked at.
func sizeVolumeOfPlan(exp *experiment.Experiment, p *plan.Plan) error {
	here := func(c plan.Choice) bool { return c.HostMounts }
	if p.Network != "open" || slices.ContainsFunc(p.Choices, here) { // the files go through this computer
		return nil
	}
	var bytes int64
	for i, m := range exp.Sandbox.Fetched() {
		if !keptOnVolume(exp, m) {
			continue
		}
		facts := factsOf(p, i)
		if facts == nil {
			return nil
		}
		bytes += facts.Bytes
	}
	return sizeVolume(exp, p, bytes)
}

// factsOf are those of one of [experiment.Sandbox.Fetched]; nil = not known.
func factsOf(p *plan.Plan, i int) *plan.Facts {
	if i >= len(p.Models) {
		return p.Datasets[i-len(p.Models)].Facts
	}
	if p.Models[i].Facts == nil {
		return nil
	}
	return &p.Models[i].Facts.Facts
}

// SizeVolume gives the volume for models the size that the models and datasets need which the
// machine will download, unless the user has given one. One that is too small is an error.
func SizeVolume(exp *experiment.Experiment, p *plan.Plan, remotes []*RemoteModel) error {
	var bytes int64
	for i, m := range exp.Sandbox.Fetched() {
		if i < len(remotes) && remotes[i] != nil && keptOnVolume(exp, m) {
			bytes += remotes[i].Bytes
		}
	}
	return sizeVolume(exp, p, bytes)
}

func sizeVolume(exp *experiment.Experiment, p *plan.Plan, bytes int64) error {
	i := modelVolume(exp)
	if i < 0 || bytes == 0 {
		return nil
	}
	need := int(math.Ceil(float64(bytes) * spare / 1e9))
	given := exp.Sandbox.Volumes[i].SizeGB
	if given == 0 {
		p.Volumes[i].SizeGB = need
		return nil
	}
	if int64(given)*1e9 < bytes {
		return exp.Errorf(fmt.Sprintf("sandbox.volumes.%d.size", i), fmt.Sprintf("the volume %s has %d GB, and the models and datasets that it keeps have %s",
			exp.Sandbox.Volumes[i].Name, given, text.Bytes(bytes)), fmt.Sprintf("write `size: %dGB` or more, or leave it out", need))
	}
	return nil
}
