package checkpoint

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/enginetest"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/sdk"
)

// newSaver is one with a sandbox of a provider at which nobody listens.
func newSaver(t *testing.T, providerName string) Saver {
	t.Helper()
	ledger, err := machine.OpenLedger(t.TempDir(), machine.SystemClock{})
	if err != nil {
		t.Fatal(err)
	}
	r := machine.NewRecord()
	r.Owner, r.Provider, r.Handle, r.AdminToken, r.Isolation, r.Network = ledger.Owner(), providerName, "h", protocol.NewToken(), isolation.GVisor, "none"
	r.State, r.Port, r.Endpoints = sdk.Running, provision.RuntimePort, []sdk.Endpoint{{Port: provision.RuntimePort, URL: "http://127.0.0.1:1"}}
	r.Lease = machine.NewLease(machine.Detached, time.Hour, time.Now())
	if err := ledger.Add(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	unknown := func(context.Context, string) (sdk.Provider, error) {
		return nil, errors.New("no provider is asked")
	}
	connector := provision.Connector{Ledger: ledger, Now: time.Now, Logger: hclog.NewNullLogger()}
	store := &snapshot.Store{Dir: t.TempDir()}
	return Saver{
		Processes: Checkpointer{
			Ledger: ledger, Now: time.Now, LocalReplaced: func() bool { return false },
			Local: func() (sdk.Provider, error) {
				return enginetest.NewProvider(local.Name, machine.SystemClock{}, enginetest.Script{}), nil
			},
		},
		Snapshots: func() (*snapshot.Store, error) { return store, nil },
		Open:      func(context.Context, string) (provision.Machine, error) { return connector.Connect(r) },
		Observer:  provision.Observer{Provider: unknown, Record: ledger.Get},
	}
}

// What cannot be saved is refused, and what is wrong with the request is found before the
// sandbox is opened.
func TestRefusedSaves(t *testing.T) {
	t.Parallel()
	here := newSaver(t, local.Name)
	replaced := newSaver(t, local.Name)
	replaced.Processes.LocalReplaced = func() bool { return true }
	taken := newSaver(t, local.Name)
	taken.Open = nil
	store, _ := taken.Snapshots()
	source := snapshot.Source{Name: "memory/pages.img", Opaque: true, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("pages")), nil
	}}
	if _, err := store.Save(t.Context(), snapshot.Meta{Name: "taken", Kind: snapshot.Memory}, []snapshot.Source{source}); err != nil {
		t.Fatal(err)
	}
	const notSaved = " cannot save processes; only this computer's can, in isolation gvisor"
	for _, c := range []struct {
		saver   Saver
		options SaveOptions
		kind    errdefs.Kind
		text    string // "" = any
	}{
		{taken, SaveOptions{Name: "no/name"}, errdefs.KindConfig, ""},
		{taken, SaveOptions{Name: "taken"}, errdefs.KindConflict, "there is a snapshot taken already; take another name, or remove it"},
		{here, SaveOptions{Name: "n", Memory: true, Live: true}, errdefs.KindConfig, ""},
		{here, SaveOptions{Name: "n", Memory: true}, errdefs.KindUnsupported, "the provider local" + notSaved},
		{replaced, SaveOptions{Name: "n", Memory: true}, errdefs.KindUnsupported, "the provider local" + notSaved},
		{newSaver(t, "elsewhere"), SaveOptions{Name: "n", Memory: true}, errdefs.KindUnsupported, "the provider elsewhere" + notSaved},
	} {
		_, err := c.saver.Save(t.Context(), "sandbox", c.options)
		if errdefs.KindOf(err) != c.kind || c.text != "" && err.Error() != c.text {
			t.Errorf("%+v: %s, %v", c.options, errdefs.KindOf(err), err)
		}
	}
	if _, err := taken.Fork(t.Context(), "sandbox", 0, ForkOptions{}); errdefs.KindOf(err) != errdefs.KindConfig {
		t.Errorf("no copy: %v", err)
	}
	if _, err := here.Fork(t.Context(), "sandbox", 1, ForkOptions{}); errdefs.KindOf(err) != errdefs.KindUnsupported {
		t.Errorf("a copy: %v", err)
	}
}
