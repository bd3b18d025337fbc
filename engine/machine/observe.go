package machine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/seer-engine/seer/sdk"
)

// observe asks for many machines at once. One that the answer leaves out is taken
// as unknown, thus stopped.
func observe(ctx context.Context, p sdk.Provider, handles []string) (map[string]sdk.Observation, error) {
	list, err := p.Observe(ctx, handles)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]sdk.Observation, len(handles))
	for _, h := range handles {
		seen[h] = sdk.Observation{Handle: h, State: sdk.Stopped, Message: "the provider does not know the machine"}
	}
	for _, o := range list {
		if _, asked := seen[o.Handle]; asked {
			seen[o.Handle] = o
		}
	}
	return seen, nil
}

// observed takes over what the provider says of a machine that lives. A provider that
// does not know the price leaves the one that is known.
func (r *Record) observed(o sdk.Observation, routes []RoutedPort) {
	r.State, r.Message, r.CostPerHour = o.State, o.Message, r.price(o)
	if o.State != sdk.Unreachable { // nothing has changed there, as far as anybody knows
		r.Endpoints, r.Routes = o.Endpoints, routes
	}
	if o.Isolation != "" {
		r.Isolation = o.Isolation
	}
}

func (r *Record) price(o sdk.Observation) float64 {
	if o.CostPerHour > 0 {
		return o.CostPerHour
	}
	return r.CostPerHour
}

// reachable is the state of a machine for its user: it only runs once its runtime
// has an address.
func reachable(o sdk.Observation, port int) sdk.State {
	if o.State == sdk.Running && !hasPort(o.Endpoints, port) {
		return sdk.Starting
	}
	return o.State
}

func hasPort(endpoints []sdk.Endpoint, port int) bool {
	for _, e := range endpoints {
		if e.Port == port {
			return true
		}
	}
	return false
}

// Refresh brings live records up to date with what their providers say, one call
// for each provider, and returns all records. A provider that cannot be asked is
// in the error; its records are returned as the ledger has them.
// A machine that its provider has made twice is a [TwinError].
func (d *Driver) Refresh(ctx context.Context, only ...string) ([]Record, error) {
	all, failed, err := d.refresh(ctx, only)
	errs := append([]error{err}, d.twins(ctx, all, failed, only)...)
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		errs = append(errs, failed[name])
	}
	return all, errors.Join(errs...)
}

// twins are the second machines of live sandboxes, at providers that may make two. A host
// that is reached by a route makes one for a key.
func (d *Driver) twins(ctx context.Context, all []Record, failed map[string]error, only []string) (errs []error) {
	asked := map[string]bool{}
	for i := range all {
		name := all[i].Provider
		if asked[name] || failed[name] != nil || !all[i].Live() || len(all[i].Routes) > 0 || d.late(name) == 0 || len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		asked[name] = true
		p, err := d.provider(ctx, name, func(string) {})
		var listed []sdk.Listed
		if err == nil && !hosted(ctx, p) {
			listed, err = p.List(ctx, d.Ledger.Owner())
		}
		if err != nil {
			failed[name] = fmt.Errorf("list the machines of %s: %w", name, err)
			continue
		}
		for _, m := range listed {
			if r, current, ok := keyOf(all, m.Key); ok && current && r.hasTwin(m) {
				errs = append(errs, &TwinError{ID: r.ID, Provider: name, Handle: m.Handle})
			}
		}
	}
	return errs
}

// refresh has the errors of the providers apart from those of the ledger.
func (d *Driver) refresh(ctx context.Context, only []string) (_ []Record, failed map[string]error, err error) {
	all, err := d.Ledger.List()
	errs := []error{err}
	failed = map[string]error{}
	groups := map[string][]string{}
	for _, r := range all {
		if r.Live() && r.Handle != "" && (len(only) == 0 || slices.Contains(only, r.Provider)) {
			groups[r.Provider] = append(groups[r.Provider], r.Handle)
		}
	}
	seen, providers := map[string]map[string]sdk.Observation{}, map[string]sdk.Provider{}
	for name, handles := range groups {
		p, err := d.provider(ctx, name, func(string) {})
		if err == nil {
			providers[name] = p
			seen[name], err = observe(ctx, p, handles)
		}
		if err != nil {
			failed[name] = fmt.Errorf("ask the provider %s: %w", name, err)
		}
	}
	for i := range all {
		switch o, ok := seen[all[i].Provider][all[i].Handle]; {
		case !ok || !all[i].Live():
		default:
			errs = append(errs, d.take(ctx, providers[all[i].Provider], &all[i], o))
		}
	}
	return all, failed, errors.Join(errs...)
}

// take believes what was observed, unless it is of an account that does not show the
// machine.
func (d *Driver) take(ctx context.Context, p sdk.Provider, r *Record, o sdk.Observation) error {
	if !o.State.Live() {
		foreign, err := d.foreign(ctx, r)
		if err != nil {
			return err
		}
		if foreign {
			return &AccountError{r.ID, r.Provider}
		}
	}
	routes, err := d.routed(ctx, p, r, &o)
	if err != nil {
		return err
	}
	return d.apply(ctx, r, o, routes)
}

// apply writes what was observed, unless somebody has ended the sandbox since.
func (d *Driver) apply(ctx context.Context, r *Record, o sdk.Observation, routes []RoutedPort) error {
	if same(r, o) {
		if len(routes) == 0 {
			return nil
		}
		if now, err := d.Ledger.Get(r.ID); err != nil || now.Live() {
			return err
		}
		// It was ended before its ports were carried again, so that this writes nothing but ends them.
	}
	// A start looks after its machine itself: it may be about to end it and to take
	// another.
	starting := r.ReadyAt.IsZero() && d.Ledger.starting(r.ID)
	updated, err := d.Ledger.Update(ctx, r.ID, func(r *Record) error {
		switch {
		case !r.Live(), r.Handle != o.Handle, starting && r.ReadyAt.IsZero():
		case !o.State.Live():
			r.end(o.State, o.Message, d.Clock.Now())
		default:
			r.observed(o, routes)
			r.State = reachable(o, r.Port)
		}
		return nil
	})
	if err != nil {
		return err
	}
	*r = updated
	if !r.Live() {
		d.unroute(ctx, r.ID)
	}
	return nil
}

// same reports that an observation brings nothing new, so that looking does not
// write.
func same(r *Record, o sdk.Observation) bool {
	if o.State == sdk.Unreachable {
		return r.State == o.State && r.Message == o.Message
	}
	if r.State != reachable(o, r.Port) || r.Message != o.Message || r.CostPerHour != r.price(o) || len(r.Endpoints) != len(o.Endpoints) {
		return false
	}
	for i := range o.Endpoints {
		if r.Endpoints[i] != o.Endpoints[i] {
			return false
		}
	}
	return o.Isolation == "" || o.Isolation == r.Isolation
}
