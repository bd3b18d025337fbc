package inventory_test

import (
	"context"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/gpulease"
	"github.com/seer-engine/seer/engine/inventory"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/sdk"
)

// foreign has only providers of plugins.
type foreign struct{}

func (foreign) Native(string) bool   { return false }
func (foreign) SawExperiment(string) {}
func (foreign) Provider(context.Context, string) (sdk.Provider, error) {
	return nil, sdk.Errorf(sdk.NotFound, "there is none")
}

// A sandbox of saved processes is nobody's until they are verified, by none of its names.
func TestWhatIsNotVerifiedIsWithheld(t *testing.T) {
	t.Parallel()
	ledger, err := machine.OpenLedger(t.TempDir(), machine.SystemClock{})
	if err != nil {
		t.Fatal(err)
	}
	sandboxes := inventory.Inventory{
		Ledger: ledger, Plugins: foreign{}, Now: time.Now,
		Connect: provision.Connector{Ledger: ledger, Now: time.Now, Logger: hclog.NewNullLogger()}.Connect,
	}
	r := machine.NewRecord()
	r.Name, r.Owner, r.Provider, r.Handle, r.AdminToken = "copy", ledger.Owner(), "elsewhere", "h", protocol.NewToken()
	r.State, r.Port, r.Endpoints = sdk.Running, provision.RuntimePort, []sdk.Endpoint{{Port: provision.RuntimePort, URL: "http://127.0.0.1:1"}}
	r.Lease = machine.NewLease(machine.Attached, time.Hour, time.Now())
	err = session.SetState(&r, func(state *session.State) {
		state.Jupyter, state.Verifying = &session.Endpoint{Port: 1, Secret: "of the original"}, true
	})
	if err == nil {
		err = ledger.Add(t.Context(), &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{r.ID, r.ID[:8], "copy"} {
		if s, err := sandboxes.Open(t.Context(), ref); protocol.CodeOf(err) != protocol.Unavailable || errdefs.KindOf(err) != errdefs.KindProvider {
			t.Errorf("%s: %v, %v", ref, s, err)
		}
	}
	if h := session.HandleOf(r); h.JupyterToken != "" || h.JupyterPort != 0 {
		t.Errorf("its handle is %+v", h)
	}
	if err := (session.Session{ID: r.ID, Ledger: ledger}).Update(t.Context(), func(state *session.State) { state.Verifying = false }); err != nil {
		t.Fatal(err)
	}
	s, err := sandboxes.Open(t.Context(), "copy")
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// here has the provider of this computer.
type here struct {
	foreign
	p sdk.Provider
}

func (h here) Provider(context.Context, string) (sdk.Provider, error) { return h.p, nil }

// measured is a provider that has measured a machine's GPUs.
type measured struct {
	sdk.Provider
	local.GPUs
	handle string
}

func (measured) GPUUses(context.Context, sdk.MachineSpec) ([]gpulease.Use, []int, error) {
	return nil, nil, nil
}

func (m measured) GPUMemory(handle string) (now, peak int64, ok bool) {
	return 15, 20, handle == m.handle
}

// A sandbox on a GPU of this computer tells what it uses.
func TestGPUUse(t *testing.T) {
	t.Parallel()
	ledger, err := machine.OpenLedger(t.TempDir(), machine.SystemClock{})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	sandboxes := inventory.Inventory{Ledger: ledger, Plugins: here{p: measured{handle: "m1"}}, Now: func() time.Time { return began.Add(time.Minute) }}
	for handle, want := range map[string]*inventory.GPUUse{"m1": {Memory: 15, Peak: 20, Seconds: 120}, "m2": nil} {
		r := machine.NewRecord()
		r.Owner, r.Provider, r.Handle, r.State = ledger.Owner(), "local", handle, sdk.Starting
		r.GPU, r.GPUCount, r.RentedAt, r.GPUShare = "H100", 2, began, "1/4"
		r.Lease = machine.NewLease(machine.Attached, time.Hour, began)
		if err := ledger.Add(t.Context(), &r); err != nil {
			t.Fatal(err)
		}
		info, err := sandboxes.Show(t.Context(), r.ID)
		if err != nil || info.GPUShare != "1/4" || (want == nil) != (info.GPUUse == nil) || want != nil && *info.GPUUse != *want {
			t.Errorf("%s: %+v, %v", handle, info.GPUUse, err)
		}
	}
}
