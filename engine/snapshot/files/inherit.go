package files

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/snapshot"
)

// labelNetwork is the label of a snapshot that says which network its sandbox had: its mode,
// or the hosts that it could reach.
const labelNetwork = "network"

// NetworkLabel is the value of the label that says which network a sandbox had, as
// [session.State] keeps it.
func NetworkLabel(s experiment.Sandbox) string {
	if s.Network == "hosts" {
		return strings.Join(s.NetworkHosts, " ")
	}
	return s.Network
}

// Inherit gives the experiment the isolation and the network of the snapshot that it starts
// from, where it names none itself: the same file would otherwise start in another one than
// it was saved in.
func Inherit(exp *experiment.Experiment, saved snapshot.Snapshot, report event.Reporter) (*experiment.Experiment, error) {
	like, inherited := inherit(exp, saved)
	if len(inherited) == 0 {
		return exp, nil
	}
	what := strings.Join(inherited, " and ")
	if exp.File == "" && (like.Sandbox.Isolation == isolation.None || like.Sandbox.Network == "host") { // nobody confirms it
		return nil, &errdefs.Error{Kind: errdefs.KindConfig, Err: fmt.Errorf("the snapshot %s was saved with %s, which the experiment does not ask for; set sandbox.isolation and sandbox.network", saved.Name, what)}
	}
	report.Send(event.SnapshotInherited{Snapshot: saved.Name, Fields: inherited})
	return like, nil
}

// inherit is the experiment with what the snapshot's sandbox had and it does not name, and
// what that is. Only this computer has a choice of both.
func inherit(exp *experiment.Experiment, saved snapshot.Snapshot) (*experiment.Experiment, []string) {
	s := exp.Sandbox
	here := slices.Contains(s.Providers, local.Name) || len(s.Providers) == 0 && len(s.GPU) == 0
	if !here || saved.Provider != local.Name {
		return exp, nil
	}
	like := *exp
	var inherited []string
	named := func(path, value string) bool { return value != "" && exp.Given(path) }
	network := saved.Labels[labelNetwork]
	if network != "" && !named("sandbox.network", s.Network) && network != NetworkLabel(s) {
		like.Sandbox.Network, like.Sandbox.NetworkHosts = network, nil
		if words := strings.Fields(network); network != "open" && network != "none" && network != "host" {
			like.Sandbox.Network, like.Sandbox.NetworkHosts = "hosts", words
		}
		inherited = append(inherited, "network "+network)
	}
	kept := like.Sandbox.Network == "none" || like.Sandbox.Network == "hosts" // which no isolation cannot do
	if saved.Isolation != "" && !named("sandbox.isolation", s.Isolation) && !(saved.Isolation == isolation.None && kept) {
		like.Sandbox.Isolation = saved.Isolation
		inherited = append(inherited, "isolation "+saved.Isolation)
	}
	return &like, inherited
}
