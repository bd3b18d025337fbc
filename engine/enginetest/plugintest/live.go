package plugintest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/sdktest"
)

// live rents one machine of the real backend, with the credentials of the user's.
func (r *run) live(ctx context.Context) error {
	isProvider := slices.ContainsFunc(r.plugin.Manifest.Implements, func(c string) bool { return strings.HasPrefix(c, string(sdk.KindProvider)+"/") })
	if !isProvider {
		r.skip("live", "only a provider can be tried with an account")
		return nil
	}
	env := r.o.Env
	if env == nil {
		env = func(string) (string, string, bool) { return "", "", false }
	}
	r.secrets = r.real(env)
	r.said = newListener(r.o.Log, r.secrets)
	r.world, r.simulates = nil, false
	if r.o.Record != "" {
		recorder, err := sdktest.Record(r.o.Record, direct(), values(r.secrets), r.headers()...)
		if err != nil {
			return err
		}
		r.world = sdktest.NewWorld(recorder)
	}
	h, err := r.hostWith(env, func(o *host.Options) {
		if r.o.Reach != nil {
			r.o.Reach(o)
			known := &pretended{} // a test remembers no hosts for the user's own commands
			o.SSHHosts, o.KubeContexts = known, usedContexts{known}
		}
	})
	if err != nil {
		return err
	}
	defer h.Close(context.WithoutCancel(ctx))
	p, err := h.Provider(ctx, r.name())
	if err != nil {
		return err
	}
	kit := r.kit(p, &sdktest.Live{MaxCost: r.config.Live.MaxCost, Offer: r.config.Live.Offer})
	if len(r.plugin.Manifest.Permissions.SSH) > 0 {
		kit.Spec = listening(kit.Spec)
	}
	checks := sdktest.LiveChecks(kit)
	sdktest.RunChecks(ctx, checks, func(result sdktest.Result) {
		if !strings.HasPrefix(result.Check, "live/") {
			result.Check = "live/" + result.Check
		}
		r.note(result)
	})
	r.leaks("live/secrets-never-seen", h)
	return nil
}

// fakeRuntime listens where Seer's program on a host says, which is at a socket, or else at its port.
const fakeRuntime = `import http.server,json,os,socketserver
at=json.loads(os.environ["SEER_BOOT"])["listen"]
if at.startswith("unix:"): s=socketserver.UnixStreamServer(at[5:],socketserver.StreamRequestHandler)
else: s=http.server.HTTPServer(("0.0.0.0",int(at.split(":")[-1])),http.server.SimpleHTTPRequestHandler)
s.serve_forever()`

// listening has a machine on a host of the user's listen as Seer's runtime does, which is how Seer's
// program there sees that it runs.
func listening(next func(*sdk.MachineSpec)) func(*sdk.MachineSpec) {
	return func(s *sdk.MachineSpec) {
		next(s)
		s.Command = []string{"python3", "-I", "-S", "-c", fakeRuntime}
		s.Env["SEER_BOOT"] = fmt.Sprintf(`{"listen":"tcp:0.0.0.0:%d"}`, s.Port)
	}
}

// real are the user's credentials, to be looked for where they must not be.
func (r *run) real(env func(string) (string, string, bool)) map[string]string {
	out := map[string]string{}
	for _, s := range r.plugin.Manifest.Secrets {
		for _, name := range s.Env {
			if value, _, ok := env(name); ok && value != "" {
				out[s.Name] = value
				break
			}
		}
	}
	return out
}

// headers are those that hold credentials.
func (r *run) headers() []string {
	var out []string
	for _, s := range r.plugin.Manifest.Secrets {
		for _, b := range s.Bind {
			out = append(out, b.Header)
		}
	}
	return out
}

// direct is the network of a recording. The host has checked the request; the address
// behind a name, which it checks when it connects itself, is not checked here.
func direct() http.RoundTripper {
	return &http.Transport{DisableCompression: true, ForceAttemptHTTP2: true}
}
