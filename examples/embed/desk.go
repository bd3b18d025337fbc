package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/container"
	"github.com/seer-engine/seer/sdk"
)

// desk is a native provider: it implements [sdk.Provider] in this program, without
// Wasm. Its machines are processes of this computer; yours would be your own.
type desk struct {
	dir string

	mu       sync.Mutex
	machines map[string]*machine // by key, which is the handle, too
}

type machine struct {
	spec sdk.MachineSpec
	box  *container.Container
}

var _ sdk.Provider = (*desk)(nil)

func (*desk) Describe(context.Context) (sdk.ProviderInfo, error) {
	return sdk.ProviderInfo{Name: "desk", Title: "this desk", Features: []sdk.Feature{sdk.FeatureSelfEnd}}, nil
}

func (*desk) Offers(_ context.Context, q sdk.OfferQuery) ([]sdk.Offer, error) {
	if q.GPU != "" {
		return nil, nil
	}
	return []sdk.Offer{{ID: "process", Stock: sdk.StockHigh}}, nil
}

func (d *desk) Create(_ context.Context, spec sdk.MachineSpec, _ json.RawMessage) (sdk.CreateStep, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.machines[spec.Key] == nil { // one key, one machine
		box, err := container.Start(filepath.Join(d.dir, spec.Key), container.Spec{Argv: spec.Command, Env: spec.Env})
		if err != nil {
			return sdk.CreateStep{}, sdk.Errorf(sdk.Internal, "starting a process on the desk: %v", err)
		}
		d.machines[spec.Key] = &machine{spec, box}
	}
	return sdk.CreateStep{Handle: spec.Key}, nil
}

func (d *desk) Observe(_ context.Context, handles []string) ([]sdk.Observation, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var seen []sdk.Observation
	for _, h := range handles {
		o := sdk.Observation{Handle: h, State: sdk.Stopped}
		if m := d.machines[h]; m.runs() {
			o.State = sdk.Running
			o.Endpoints = []sdk.Endpoint{{Port: m.spec.Port, URL: "http://" + m.box.Address(m.spec.Port)}}
		}
		seen = append(seen, o)
	}
	return seen, nil
}

func (d *desk) List(_ context.Context, owner string) ([]sdk.Listed, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []sdk.Listed
	for key, m := range d.machines {
		if m.spec.Owner == owner && m.runs() {
			found = append(found, sdk.Listed{Handle: key, Key: key, Owner: owner, State: sdk.Running, EndUnix: m.spec.EndUnix})
		}
	}
	return found, nil
}

func (d *desk) Terminate(_ context.Context, handle string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m := d.machines[handle]; m != nil {
		m.box.Stop(time.Second)
		delete(d.machines, handle)
	}
	return nil
}

func (m *machine) runs() bool {
	if m == nil {
		return false
	}
	select {
	case <-m.box.Done():
		return false
	default:
		return true
	}
}
