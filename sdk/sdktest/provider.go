package sdktest

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// ProviderKit says how to try a provider. Open and one of Cloud and World are enough for
// most. Everything is rented from a simulator: the author's placeholder for the backend.
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

	// Query finds machines to rent, by the IDs of what Offers gives: the cheapest, and once the
	// dearest. Where every machine has a GPU, it is for *. Options are in it.
	Query sdk.OfferQuery
	// Spec changes what is rented, for a backend that insists on something.
	Spec func(*sdk.MachineSpec)
	// Supports are the parts of a machine's description that the backend can do, of
	// [Parts]; what is not named must be refused as unsupported.
	Supports []Part
	// PerHandle says why Observe makes a request for each handle. Empty: it does not.
	PerHandle string

	// Machines tells what the simulator has got, live or not. Optional: with it, the kit
	// looks behind the provider's back.
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
