package runs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/event"
)

// Provenance is what a run was made of, as its log has it. Seer and the program of the agent are in
// [Summary].
type Provenance struct {
	Plugins  []event.RunPlugin   `json:"plugins"`
	Models   []event.RunModel    `json:"models"` // and datasets
	Services []event.RunCode     `json:"services"`
	Packages []event.RunPackages `json:"packages"` // of each sandbox
}

// mostMade is how many things of a kind a log may name.
const mostMade = 1000

// Add takes what belongs to the provenance of a run from an event, each thing once. It reports
// whether it has taken anything.
func (p *Provenance) Add(d event.Data) (added bool) {
	switch d := d.(type) {
	case event.RunPlugin:
		p.Plugins, added = withOnce(p.Plugins, d)
	case event.RunModel:
		p.Models, added = withOnce(p.Models, d)
	case event.RunCode:
		p.Services, added = withOnce(p.Services, d)
	case event.RunPackages:
		if added = len(p.Packages) < mostMade; added {
			p.Packages = append(p.Packages, d)
		}
	}
	return added
}

func withOnce[T comparable](all []T, one T) ([]T, bool) {
	if len(all) == mostMade || slices.Contains(all, one) {
		return all, false
	}
	return append(all, one), true
}

// NewProvenance is that of a run which has noted nothing yet. No slice in it is nil.
func NewProvenance() Provenance {
	return Provenance{[]event.RunPlugin{}, []event.RunModel{}, []event.RunCode{}, []event.RunPackages{}}
}

// Provenance is what the run was made of. Its slices are not for changing.
func (r *Run) Provenance() Provenance { return r.provenance }

func (p Provenance) plugins() (all facts) {
	for _, x := range p.Plugins {
		all = append(all, fact{x.ID, strings.TrimSpace(x.Version + " " + x.SHA256)})
	}
	return unique(all)
}

func (p Provenance) models() (all facts) {
	for i, m := range p.Models {
		name := cmp.Or(m.Name, fmt.Sprintf("hidden model %d", i+1))
		all = append(all, fact{name, strings.TrimSpace(m.Source + " " + m.Revision)})
	}
	return unique(all)
}

func (p Provenance) code() (all facts) {
	for _, s := range p.Services {
		all = append(all, fact{s.Name, s.CodeHash})
	}
	return unique(all)
}

func (p Provenance) packages() (all facts) {
	for _, list := range p.Packages {
		all = append(all, fact{"python", list.Python})
		for _, x := range list.Packages {
			name := x.Name
			if x.System {
				name += " (system)"
			}
			all = append(all, fact{name, strings.TrimSpace(x.Version + " " + x.SHA256)})
		}
	}
	return unique(all)
}
