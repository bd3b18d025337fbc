package sdktest

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// ProviderChecks lists what a provider is tried for, to be run in this order; see [Check].
func ProviderChecks(k ProviderKit) []Check {
	l := newLab(k)
	checks := []Check{
		{Name: "describe/answers", run: l.describeAnswers, Doc: "Describe says what the backend can do. It has no side effect and needs no credential."},
		{Name: "describe/sensible", run: l.describeSensible, Doc: "Name is the value of provider:, features are ones that the contract knows, GPU names are canonical, numbers are not negative."},

		{Name: "offers/sorted", run: l.offersSorted, Doc: "Offers are what could be rented now, cheapest first, with an ID and the price of the whole machine."},
		{Name: "offers/gpu", run: l.offersGPU, Doc: "The query's GPU is empty for machines without one, * for every GPU, else a name to be compared with gpu.Match; names in offers are canonical."},
		{Name: "offers/narrow", run: l.offersNarrow, Doc: "The plugin leaves out what has too little CPU or memory, too few GPUs or is in no region of the query. An empty list is no error."},
		{Name: "offers/unknown-option", run: l.offersUnknownOption, Doc: "A key of provider_options that the plugin does not know is invalid, in Offers already."},

		{Name: "check/finds", run: func(ctx context.Context, t *trial) { checkFinds(ctx, l, t) }, Doc: "Check looks at everything that a machine will need, reports all that it found, each with a fix unless it is ok, and makes nothing."},

		{Name: "create/gives-machine", run: l.createGives, Doc: "Create goes on in steps until there is a handle; a cursor is JSON of at most 4 KiB; List then gives handle, key, owner and end."},
		{Name: "create/once-again", run: l.createAgain, Doc: "However often Create is called with one key, at any point of its way, there is at most one machine, and its handle is the same."},
		{Name: "create/once-at-the-same-time", run: l.createTogether, Doc: "However often Create is called with one key, by whatever process, there is at most one machine."},
		{Name: "create/once-answer-lost", run: l.createLost, Doc: "Any call may be made again because its answer was lost; there is still at most one machine."},
		{Name: "create/foreign-cursor", run: l.createForeignCursor, Doc: "A cursor belongs to the plugin; one that it cannot read is an error and rents nothing."},
		{Name: "create/asked-offer", run: l.createAsked, Doc: "Offer is the ID of the offer to take, and no other is rented."},
		{Name: "create/without-offer", run: l.createWithoutOffer, Doc: "A spec without Offer takes what fits."},
		{Name: "create/arrives", run: l.createArrives, Doc: "On the machine runs Command with Env, and Port of it is reachable."},
		{Name: "create/unsupported", run: l.createUnsupported, Doc: "What a backend cannot do is refused as unsupported before anything is rented, never left out."},
		{Name: "create/unknown-option", run: l.createUnknownOption, Doc: "A key of provider_options that the plugin does not know is invalid."},
		{Name: "create/unknown-offer", run: l.createUnknownOffer, Doc: "An offer that the backend does not have is an error, and nothing is rented."},
		{Name: "create/no-capacity", run: l.createNoCapacity, Doc: "no_capacity means that nothing of the kind is free now; Seer then takes the next choice."},

		{Name: "observe/becomes-running", run: l.observeRunning, Doc: "running comes with an endpoint for Port: unix:/absolute/path, http://host:port, https://host or route:, for which Route then says the way."},
		{Name: "observe/every-handle-once", run: l.observeEvery, Doc: "The result has one entry for each handle; one that the backend does not know is stopped."},
		{Name: "observe/one-request", run: l.observeBatched, Doc: "Observe is one request for all handles wherever the backend allows it."},

		{Name: "list/finds", run: l.listFinds, Doc: "List finds every machine of the owner that still exists, with key and end as they were given."},
		{Name: "list/only-the-owners", run: l.listOwners, Doc: "List gives machines of that owner and of nobody else; an owner without machines has an empty list."},

		{Name: "terminate/ends", run: l.terminateEnds, Doc: "Terminate ends a machine and everything that it bills for."},
		{Name: "terminate/again", run: l.terminateAgain, Doc: "Terminate is idempotent: an unknown handle is done."},
		{Name: "terminate/only-this", run: l.terminateOnly, Doc: "Terminate ends the machine of the handle and no other, whatever the handle looks like."},
		{Name: "terminate/answer-lost", run: l.terminateLost, Doc: "Terminate may be called again because its answer was lost."},

		{Name: "snapshot/once", run: l.snapshotOnce, Doc: "However often Snapshot is called with one key, there is at most one copy; its result is a valid Image.Snapshot."},
		{Name: "clean/spares", run: func(ctx context.Context, t *trial) { cleanSpares(ctx, l, t) }, Doc: "Clean removes what is kept for later machines, never what a machine uses; with DryRun it removes nothing and reports the same."},
		{Name: "cancel/returns", run: l.cancelReturns, Doc: "A cancelled context ends a call early; the engine then repeats it or terminates."},
	}
	checks = append(checks, l.hostile()...)
	for i, c := range checks {
		checks[i].run = l.inTurn(c, needsOf(c.Name))
	}
	return append(checks,
		Check{Name: "end/no-stray-request", run: l.endStray, always: true, Doc: "A request goes where the user allowed it; a redirect to elsewhere is not followed."},
		Check{Name: "end/errors-one-line", run: l.endTidy, always: true, Doc: "A message is one sentence for a person: what failed and, where it is known, what to do about it."},
		Check{Name: "end/no-secret-shown", run: l.endSecrets, always: true, Doc: "A credential appears in no result, error or log."},
		Check{Name: "end/nothing-left", run: l.endNothing, always: true, Doc: "What was terminated is gone: nothing that the kit rented costs money at its end."},
	)
}

// ProviderKit says how to try a provider. Open and one of Cloud and World are enough for
// most. Everything is rented from a simulator: the author's fake backend.
type ProviderKit struct {
	// Open makes a provider that reaches its backend through c, as Seer lets a plugin
	// reach it: credentials are added and redirects followed behind it. It is called
	// often: Seer runs several instances, and none has a memory.
	Open func(c *http.Client) sdk.Provider

	Cloud http.Handler // the simulator; nil where World has one, or the provider needs no network
	World *World       // instead of Cloud, for a simulator elsewhere ([Remote]) or another transport

	// Headers are the credentials that Seer would add. They are taken out of what comes
	// back. Default: Authorization: Bearer and something secret.
	Headers http.Header
	// Secrets are credentials that the provider itself holds. They may be shown nowhere.
	Secrets []string

	// Query finds machines to rent, by the IDs of what Offers gives: the cheapest, and once
	// the dearest. If every machine has a GPU, it is for *. Options are in it.
	Query sdk.OfferQuery
	// Spec changes what is rented, for a backend that insists on something.
	Spec func(*sdk.MachineSpec)
	// Supports are the parts of a machine's description that the backend can do, of
	// [Parts]; what is not named must be refused as unsupported.
	Supports []Part
	// PerHandle says why Observe makes a request for each handle. Empty: it does not.
	PerHandle string

	// Machines lists the machines of the simulator, live or not. Optional: with it, the kit
	// checks the provider's answers against the simulator.
	Machines func() []Machine
	// SoldOut takes all machines of the simulator away until restore is called. Optional.
	SoldOut func() (restore func())
	// Sleep waits for the backend, instead of real time: for simulators with a clock of their
	// own. Optional.
	Sleep func(context.Context, time.Duration) error

	BootTime time.Duration // how long until a machine runs at most; default 60 s
	CallTime time.Duration // how long a call may take; default 30 s, as Seer's
	Quick    bool          // leaves out faults that cost time (slow, huge), and most of the requests that could be lost

	Live *Live // for [LiveChecks]

	moment, grace time.Duration // of the kit's own tests
}

// Machine is what a simulator has rented out.
type Machine struct {
	Handle  string
	Command []string
	Env     map[string]string
	Port    int
	Offer   string // ID of what was rented; optional
	Live    bool   // it costs money
}

// Part is something of a [sdk.MachineSpec] that not every backend has.
type Part string

// The parts that a provider does or refuses.
const (
	PartDisk    Part = "disk"           // DiskGB
	PartPorts   Part = "ports"          // Ports
	PartImage   Part = "image"          // Image.Base
	PartPython  Part = "python_version" // Image.PythonVersion
	PartVolumes Part = "volumes"        // Volumes; with [sdk.FeatureVolumes] they are not tried
	PartNetwork Part = "network"        // Network: none
	PartMounts  Part = "mounts"         // Mounts; with [sdk.FeatureHostMounts] they are not tried
)

// Provider tries a provider in a test of its own for each check.
func Provider(t *testing.T, k ProviderKit) {
	t.Helper()
	test(t, ProviderChecks(k))
}
