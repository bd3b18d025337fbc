package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// Routes carries ports of machines that are reached by an [sdk.Route] to this computer. It
// goes on when this program ends, and when the connection to a host is lost for a time.
type Routes interface {
	// Ensure has each of these ports of a sandbox carried to a port of this computer's
	// loopback, which stays the same as long as that is possible. It returns the URL of each.
	// They end by themselves at the time end, as nobody may look when a machine ends by itself;
	// zero = never.
	Ensure(ctx context.Context, sandbox string, end time.Time, routes []RoutedPort) (map[int]string, error)
	// Remove ends what is carried for a sandbox. It is idempotent.
	Remove(ctx context.Context, sandbox string) error
}

// RoutedPort is a port of a machine, and the way to it.
type RoutedPort struct {
	Port  int       `json:"port"`
	Route sdk.Route `json:"route"`
}

// routed puts addresses of this computer in the place of routes. A provider is asked for the
// route to a port once. have are the routes that are known; the result are those of the
// observation.
func (d *Driver) routed(ctx context.Context, p sdk.Provider, r *Record, o *sdk.Observation) ([]RoutedPort, error) {
	var routes []RoutedPort
	for _, e := range o.Endpoints {
		if e.URL != sdk.RouteURL {
			continue
		}
		known := slices.IndexFunc(r.Routes, func(have RoutedPort) bool { return have.Port == e.Port })
		if known >= 0 && r.Handle == o.Handle {
			routes = append(routes, r.Routes[known])
			continue
		}
		router, ok := p.(sdk.Router)
		if !ok {
			return nil, sdk.Errorf(sdk.Internal, "the provider %s gave no way to port %d of its machine", r.Provider, e.Port)
		}
		route, err := router.Route(ctx, o.Handle, e.Port)
		if err != nil {
			return nil, fmt.Errorf("ask %s for the way to port %d: %w", r.Provider, e.Port, err)
		}
		routes = append(routes, RoutedPort{e.Port, route})
	}
	if len(routes) == 0 {
		return nil, nil
	}
	urls, err := d.ensure(ctx, r, routes)
	if err != nil {
		if len(r.Routes) == 0 { // of a start that may fail: the record does not know of them
			d.unroute(ctx, r.ID)
		}
		return nil, err
	}
	o.Endpoints = carried(o.Endpoints, urls)
	return routes, nil
}

// carried are endpoints with the addresses of this computer.
func carried(endpoints []sdk.Endpoint, urls map[int]string) []sdk.Endpoint {
	endpoints = slices.Clone(endpoints)
	for i, e := range endpoints {
		if url, ok := urls[e.Port]; ok {
			endpoints[i].URL = url
		}
	}
	return endpoints
}

func (d *Driver) ensure(ctx context.Context, r *Record, routes []RoutedPort) (map[int]string, error) {
	if d.Routes == nil {
		return nil, sdk.Errorf(sdk.Unsupported, "this program cannot reach machines by routes")
	}
	return d.Routes.Ensure(ctx, r.ID, r.routesEnd(), routes)
}

// routesEnd is when no port of the machine needs to be carried any more; zero = not known.
func (r *Record) routesEnd() time.Time {
	if r.HardEnd.IsZero() {
		return time.Time{}
	}
	return r.HardEnd.Add(grace)
}

// Reach makes sure that what carries the ports of a machine of the ledger runs, and returns
// the record with the addresses that they have now; that of the ledger if the machine has ended. It
// asks no provider, and does nothing for machines that are reached without routes.
func Reach(ctx context.Context, l *Ledger, through Routes, r Record) (Record, error) {
	if !r.Live() || len(r.Routes) == 0 {
		return r, nil
	}
	urls, err := through.Ensure(ctx, r.ID, r.routesEnd(), r.Routes)
	if err != nil {
		return r, err
	}
	// The machine may have ended since r was read. Its end closed the ports before Ensure opened them.
	now, err := l.Get(r.ID)
	if err != nil || !now.Live() {
		return now, errors.Join(err, through.Remove(context.WithoutCancel(ctx), r.ID))
	}
	r.Endpoints = carried(r.Endpoints, urls)
	return r, nil
}

// unroute ends what is carried for a sandbox whose machine has ended. A start that was killed may
// have left ports of which the record does not know.
func (d *Driver) unroute(ctx context.Context, id string) {
	if d.Routes == nil {
		return
	}
	if err := d.Routes.Remove(context.WithoutCancel(ctx), id); err != nil {
		d.Logger.Warn("the ports of an ended sandbox are still open on this computer", "sandbox", id, "error", err)
	}
}
