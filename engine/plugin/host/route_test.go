package host

import (
	"testing"

	"github.com/seer-engine/seer/sdk"
)

func TestPlainRoute(t *testing.T) {
	t.Parallel()
	ssh := func(target string) sdk.Route { return sdk.Route{SSH: &sdk.SSHRoute{Host: "box", Target: target}} }
	kube := func(change func(*sdk.KubeRoute)) sdk.Route {
		r := sdk.KubeRoute{Context: "lab", Namespace: "agents", Pod: "seer-1", Container: "seer", Target: "tcp:8717"}
		change(&r)
		return sdk.Route{Kube: &r}
	}
	both := kube(func(*sdk.KubeRoute) {})
	both.SSH = ssh("tcp:1").SSH
	for name, tc := range map[string]struct {
		route sdk.Route
		want  bool
	}{
		"a port of a host":    {ssh("tcp:65535"), true},
		"a socket of a host":  {ssh("unix:/run/s"), true},
		"no port":             {ssh("tcp:0"), false},
		"too high a port":     {ssh("tcp:65536"), false},
		"a port with a sign":  {ssh("tcp:+80"), false},
		"a relative socket":   {ssh("unix:run/s"), false},
		"nothing":             {sdk.Route{}, false},
		"two ways":            {both, false},
		"a pod":               {kube(func(*sdk.KubeRoute) {}), true},
		"a socket of a pod":   {kube(func(r *sdk.KubeRoute) { r.Target = "unix:/run/s" }), false},
		"another host":        {kube(func(r *sdk.KubeRoute) { r.Target = "tcp:10.0.0.1:80" }), false},
		"no context":          {kube(func(r *sdk.KubeRoute) { r.Context = "" }), false},
		"an option":           {kube(func(r *sdk.KubeRoute) { r.Context = "-x" }), false},
		"a path for a name":   {kube(func(r *sdk.KubeRoute) { r.Pod = "a/exec" }), false},
		"no DNS label":        {kube(func(r *sdk.KubeRoute) { r.Namespace = "Agents" }), false},
		"an odd container":    {kube(func(r *sdk.KubeRoute) { r.Container = "a b" }), false},
		"a context of a path": {kube(func(r *sdk.KubeRoute) { r.Context = "arn:aws:eks:eu/lab@x" }), true},
	} {
		if got := plainRoute(tc.route); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
