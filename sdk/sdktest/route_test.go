package sdktest

import (
	"testing"

	"github.com/seer-engine/seer/sdk"
)

func TestBadRoute(t *testing.T) {
	t.Parallel()
	kube := func(change func(*sdk.KubeRoute)) sdk.Route {
		r := sdk.KubeRoute{Context: "lab", Namespace: "agents", Pod: "seer-1", Container: "seer", Target: "tcp:8717"}
		change(&r)
		return sdk.Route{Kube: &r}
	}
	both := kube(func(*sdk.KubeRoute) {})
	both.SSH = &sdk.SSHRoute{Host: "box", Target: "tcp:1"}
	for name, tc := range map[string]struct {
		route sdk.Route
		bad   bool
	}{
		"a host":            {sdk.Route{SSH: &sdk.SSHRoute{Host: "box", Target: "unix:/s"}}, false},
		"no host":           {sdk.Route{SSH: &sdk.SSHRoute{Target: "tcp:1"}}, true},
		"a pod":             {kube(func(*sdk.KubeRoute) {}), false},
		"nothing":           {sdk.Route{}, true},
		"both":              {both, true},
		"no context":        {kube(func(r *sdk.KubeRoute) { r.Context = "" }), true},
		"a path":            {kube(func(r *sdk.KubeRoute) { r.Pod = "a/b" }), true},
		"a socket of a pod": {kube(func(r *sdk.KubeRoute) { r.Target = "unix:/s" }), true},
	} {
		if problem := badRoute(tc.route); (problem != "") != tc.bad {
			t.Errorf("%s: %q", name, problem)
		}
	}
}
