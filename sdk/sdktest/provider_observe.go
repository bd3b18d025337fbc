package sdktest

import (
	"context"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

var knownStates = []sdk.State{sdk.Pending, sdk.Building, sdk.Starting, sdk.Running, sdk.Stopped, sdk.Failed, sdk.Unreachable}

func (l *lab) observeRunning(ctx context.Context, t *trial) {
	spec, handle, ok := rent(ctx, l, t, "becomes running")
	if !ok {
		return
	}
	var o sdk.Observation
	err := l.until(ctx, func() (bool, error) {
		var err error
		o, err = l.observe(ctx, handle)
		switch {
		case err != nil:
			return false, err
		case !slices.Contains(knownStates, o.State):
			return false, fmt.Errorf("the state %q is none of %v; map the backend's states one by one", o.State, knownStates)
		case !o.State.Live():
			return false, fmt.Errorf("the machine is %s: %s", o.State, o.Message)
		}
		return o.State == sdk.Running && len(o.Endpoints) > 0, nil
	})
	if err != nil {
		t.failf("a new machine does not become running with an endpoint: %v", err)
		return
	}
	for _, e := range o.Endpoints {
		if problem := badEndpoint(e); problem != "" {
			t.failf("the endpoint %+v %s", e, problem)
		}
		if e.URL == sdk.RouteURL {
			l.leads(ctx, t, handle, e.Port)
		}
	}
	if !slices.ContainsFunc(o.Endpoints, func(e sdk.Endpoint) bool { return e.Port == spec.Port }) {
		t.failf("the machine runs and has no endpoint for the port %d: %+v", spec.Port, o.Endpoints)
	}
	if o.CostPerHour < 0 {
		t.failf("the machine costs %v an hour", o.CostPerHour)
	}
}

// leads checks the route to a port of a machine, which must stay the same.
func (l *lab) leads(ctx context.Context, t *trial, handle string, port int) {
	r, err := l.open().Route(ctx, handle, port)
	if err != nil {
		t.failf("the port %d is reached by a route, and Route failed: %s", port, describe(err))
		return
	}
	if problem := badRoute(r); problem != "" {
		t.failf("the route to port %d %s", port, problem)
	}
	again, err := l.open().Route(ctx, handle, port)
	if err != nil || !reflect.DeepEqual(again, r) {
		t.failf("the route to port %d is another one the second time (%s); Seer asks once", port, describe(err))
	}
	if _, err := l.open().Route(ctx, unknownHandle, port); err == nil {
		t.failf("there is a route to a machine that does not exist; not_found is meant")
	}
}

var portTarget = regexp.MustCompile(`^tcp:[1-9][0-9]{0,4}$`)

var routeTarget = regexp.MustCompile(`^(unix:/[^\x00-\x1f\x7f]{1,200}|tcp:[1-9][0-9]{0,4})$`)

var podNames = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

func badRoute(r sdk.Route) string {
	switch {
	case (r.SSH == nil) == (r.Kube == nil):
		return "has to be one of SSH and Kube; set one of them"
	case r.Kube != nil && r.Kube.Context == "":
		return "names no context; the current one may change"
	case r.Kube != nil && (!podNames.MatchString(r.Kube.Namespace) || !podNames.MatchString(r.Kube.Pod) || !podNames.MatchString(r.Kube.Container)):
		return fmt.Sprintf("leads to %q, %q, %q, which are not names of a namespace, a pod and a container", r.Kube.Namespace, r.Kube.Pod, r.Kube.Container)
	case r.Kube != nil && !portTarget.MatchString(r.Kube.Target):
		return fmt.Sprintf("has the target %q, which is not tcp:PORT", r.Kube.Target)
	case r.Kube != nil:
		return ""
	case r.SSH.Host == "":
		return "names no host"
	case !routeTarget.MatchString(r.SSH.Target):
		return fmt.Sprintf("has the target %q, which is neither unix:/absolute/path nor tcp:PORT", r.SSH.Target)
	}
	return ""
}

func badEndpoint(e sdk.Endpoint) string {
	if e.URL == sdk.RouteURL && e.Port > 0 {
		return ""
	}
	if path, ok := strings.CutPrefix(e.URL, "unix:"); ok {
		if !strings.HasPrefix(path, "/") {
			return "is not unix: and an absolute path"
		}
		return ""
	}
	u, err := url.Parse(e.URL)
	switch {
	case err != nil:
		return "cannot be read as a URL"
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "is not http://host:port, https://host[:port], unix:/path or route:"
	case u.Scheme == "http" && u.Port() == "":
		return "is http without a port"
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "has more than an address in it"
	case e.Port <= 0:
		return "does not say which port of the machine it is"
	}
	return ""
}

const unknownHandle = "seer-no-such-machine"

func (l *lab) observeEvery(ctx context.Context, t *trial) {
	_, made := rentMany(ctx, l, t, 2)
	if made == nil {
		return
	}
	asked := []string{unknownHandle, made[0], unknownHandle + "-2", made[1]}
	all, err := l.open().Observe(ctx, asked)
	if err != nil {
		t.failf("Observe of two machines and two unknown handles: %s; an unknown handle is stopped, not an error", describe(err))
		return
	}
	seen := map[string]int{}
	for _, o := range all {
		seen[o.Handle]++
		unknown := strings.HasPrefix(o.Handle, unknownHandle)
		switch {
		case !slices.Contains(asked, o.Handle):
			t.failf("Observe gave %q, which nobody asked for", o.Handle)
		case unknown && o.State != sdk.Stopped:
			t.failf("a handle that the backend does not know is %q; stopped is meant", o.State)
		case !unknown && !o.State.Live():
			t.failf("%s, which was just rented, is %s (%s)", o.Handle, o.State, o.Message)
		}
	}
	for _, handle := range asked {
		if seen[handle] != 1 {
			t.failf("Observe gave %d entries for %q; each handle has exactly one", seen[handle], handle)
		}
	}
	none, err := l.open().Observe(ctx, nil)
	if err != nil || len(none) > 0 {
		t.failf("Observe of no handles gave %d entries: %s", len(none), describe(err))
	}
}

func (l *lab) observeBatched(ctx context.Context, t *trial) {
	if !l.networked(t, "there are no requests to be counted") {
		return
	}
	_, made := rentMany(ctx, l, t, 3)
	if made == nil {
		return
	}
	requests := func(handles []string) []asked {
		seen, stop := l.watch()
		defer stop()
		_, err := l.open().Observe(ctx, handles)
		t.try("Observe", err)
		return seen()
	}
	one, three := requests(made[:1]), requests(made)
	t.notef("%s for 1 handle, %d for 3", number(len(one), "request"), len(three))
	if grows(one, three, made) && l.kit.PerHandle == "" {
		t.failf("Observe makes %s for 1 handle and %d for 3, which are not the pages of one list; ask for a list, or say in the kit's PerHandle (per_handle: in conformance.yaml) why the backend has none", number(len(one), "request"), len(three))
	}
	if l.kit.PerHandle != "" {
		t.notef("the author says: %s", l.kit.PerHandle)
	}
}
