package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/snapshot"
)

// labelNetwork is the label of a snapshot that says which network its sandbox had: its mode,
// or the hosts that it could reach.
const labelNetwork = "network"

// networkLabel is the value of that label.
func networkLabel(s experiment.Sandbox) string {
	if s.Network == "hosts" {
		return strings.Join(s.NetworkHosts, " ")
	}
	return s.Network
}

// alike gives the experiment the isolation and the network of the snapshot that it starts
// from, where it names none itself: the same file would otherwise start in another one than
// it was saved in.
func (u *up) alike(ctx context.Context) error {
	if u.opts.Snapshot == "" {
		return nil
	}
	store, err := u.engine.Snapshots()
	if err != nil {
		return err
	}
	saved, err := store.Get(ctx, u.opts.Snapshot)
	if err != nil {
		return as(KindNotFound, err)
	}
	like, told := asSaved(u.exp, saved)
	if len(told) == 0 {
		return nil
	}
	if u.exp.File == "" && (like.Sandbox.Isolation == isolation.None || like.Sandbox.Network == "host") { // nobody confirms it
		return &Error{Kind: KindConfig, Err: fmt.Errorf("the snapshot %s was saved with %s, which the experiment does not ask for; set sandbox.isolation and sandbox.network", saved.Name, strings.Join(told, " and "))}
	}
	u.report.Info(StageSnapshot, "the sandbox has %s, as %s had; name another in the experiment to change it", strings.Join(told, " and "), saved.Name)
	u.exp = like
	return nil
}

// asSaved is the experiment with what the snapshot's sandbox had and it does not name, and
// what that is. Only this computer has a choice of both.
func asSaved(exp *experiment.Experiment, saved snapshot.Snapshot) (*experiment.Experiment, []string) {
	s := exp.Sandbox
	here := slices.Contains(s.Providers, localName) || len(s.Providers) == 0 && len(s.GPU) == 0
	if !here || saved.Provider != localName {
		return exp, nil
	}
	like := *exp
	var told []string
	named := func(path, value string) bool { return value != "" && exp.Given(path) }
	network := saved.Labels[labelNetwork]
	if network != "" && !named("sandbox.network", s.Network) && network != networkLabel(s) {
		like.Sandbox.Network, like.Sandbox.NetworkHosts = network, nil
		if words := strings.Fields(network); network != "open" && network != "none" && network != "host" {
			like.Sandbox.Network, like.Sandbox.NetworkHosts = "hosts", words
		}
		told = append(told, "network "+network)
	}
	kept := like.Sandbox.Network == "none" || like.Sandbox.Network == "hosts" // which no isolation cannot do
	if saved.Isolation != "" && !named("sandbox.isolation", s.Isolation) && !(saved.Isolation == isolation.None && kept) {
		like.Sandbox.Isolation = saved.Isolation
		told = append(told, "isolation "+saved.Isolation)
	}
	return &like, told
}
