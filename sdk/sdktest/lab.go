package sdktest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// lab is one run of a provider's kit.
type lab struct {
	kit   ProviderKit
	world *World
	guard *guard

	late  atomic.Bool  // the kit has waited in vain
	stuck atomic.Int32 // how often machines could not be ended

	ownKey    bool            // Headers are the kit's
	explained bool            // why the credential was refused
	lacking   map[need]string // → the check that found it
	unoffered error           // why nothing could be rented

	mu     sync.Mutex
	owners []string
	keys   map[string]bool // of what was asked for
}

func newLab(k ProviderKit) *lab {
	ownKey := k.Headers == nil
	if ownKey {
		k.Headers = http.Header{"Authorization": {"Bearer seer-canary-" + random(20)}}
	}
	if k.Sleep == nil {
		k.Sleep = sleep
	}
	if k.BootTime <= 0 {
		k.BootTime = time.Minute
	}
	l := &lab{kit: k, world: k.World, guard: newGuard(k.CallTime), ownKey: ownKey, lacking: map[need]string{}, keys: map[string]bool{}}
	if k.grace > 0 {
		l.guard.grace = k.grace
	}
	if l.kit.moment <= 0 {
		l.kit.moment = slowTime
	}
	switch {
	case l.world != nil:
	case k.Cloud != nil:
		l.world = NewWorld(Serve(k.Cloud))
	default:
		l.world = NewWorld(nowhere{})
	}
	return l
}

// nowhere is the backend of what needs none.
type nowhere struct{}

func (nowhere) RoundTrip(req *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("the kit has neither Cloud nor World, so that %s cannot be asked", req.URL.Host)
}

// networked reports whether there is a world to go wrong. The check is skipped where there is
// none, and missing says what it lacks.
func (l *lab) networked(t *trial, missing string) bool {
	if l.kit.Cloud == nil && l.kit.World == nil {
		t.skipf("no HTTP passes the kit (there is no simulator, or the plugin needs none or speaks gRPC): %s", missing)
		return false
	}
	return true
}

// open makes a provider without a memory.
func (l *lab) open() guarded {
	return guarded{l.kit.Open(l.world.Client(l.kit.Headers)), l}
}

// random is small letters and digits.
func random(n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	for i := range b {
		b[i] = letters[int(b[i])%len(letters)]
	}
	return string(b)
}

// owner is a new one, whose machines are ended when the kit ends.
func (l *lab) owner() string {
	o := "seer-" + random(20)
	l.adopt(o)
	return o
}

// ownerFor is a new one, whose machines are ended when the check is over.
func (l *lab) ownerFor(t *trial) string {
	o := l.owner()
	t.owners = append(t.owners, o)
	return o
}

func (l *lab) adopt(owner string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owners = append(l.owners, owner)
}

// envKey is the variable by which the kit knows its machines in a simulator.
const envKey = "SEER_TEST_KEY"

// command is a small program that listens, as the loader does. Where machines are
// processes of one computer, only the first one can; the others live as long.
const command = `import http.server,time
# "quotes", 'quotes', $HOME, ` + "`ticks`" + `, \n, é
try: http.server.HTTPServer(("0.0.0.0",8470),http.server.SimpleHTTPRequestHandler).serve_forever()
except OSError: time.sleep(900)`

// guarded is a provider whose calls are watched.
type guarded struct {
	p sdk.Provider
	l *lab
}

var _ sdk.Provider = guarded{}

func (g guarded) Describe(ctx context.Context) (sdk.ProviderInfo, error) {
	return call(ctx, g.l.guard, "Describe", g.p.Describe)
}

// has reports whether Describe names a feature. The check is skipped where it does not.
func (g guarded) has(ctx context.Context, t *trial, feature sdk.Feature) bool {
	info, err := g.Describe(ctx)
	if !t.try("Describe", err) {
		return false
	}
	if !info.Has(feature) {
		t.skipf("Describe does not name the feature %s", feature)
		return false
	}
	return true
}

func (g guarded) Offers(ctx context.Context, q sdk.OfferQuery) ([]sdk.Offer, error) {
	return call(ctx, g.l.guard, "Offers", func(ctx context.Context) ([]sdk.Offer, error) { return g.p.Offers(ctx, q) })
}

func (g guarded) Create(ctx context.Context, spec sdk.MachineSpec, cursor json.RawMessage) (sdk.CreateStep, error) {
	return call(ctx, g.l.guard, "Create", func(ctx context.Context) (sdk.CreateStep, error) { return g.p.Create(ctx, spec, cursor) })
}

func (g guarded) Observe(ctx context.Context, handles []string) ([]sdk.Observation, error) {
	return call(ctx, g.l.guard, "Observe", func(ctx context.Context) ([]sdk.Observation, error) { return g.p.Observe(ctx, handles) })
}

func (g guarded) List(ctx context.Context, owner string) ([]sdk.Listed, error) {
	return call(ctx, g.l.guard, "List", func(ctx context.Context) ([]sdk.Listed, error) { return g.p.List(ctx, owner) })
}

func (g guarded) Terminate(ctx context.Context, handle string) error {
	_, err := call(ctx, g.l.guard, "Terminate", func(ctx context.Context) (struct{}, error) { return struct{}{}, g.p.Terminate(ctx, handle) })
	return err
}

// Route implements [sdk.Router].
func (g guarded) Route(ctx context.Context, handle string, port int) (sdk.Route, error) {
	return call(ctx, g.l.guard, "Route", func(ctx context.Context) (sdk.Route, error) {
		r, ok := g.p.(sdk.Router)
		if !ok {
			return sdk.Route{}, defect{"an endpoint is reached by a route, and the provider has no method Route"}
		}
		return r.Route(ctx, handle, port)
	})
}

func (g guarded) check(ctx context.Context, q sdk.CheckQuery) ([]sdk.Finding, error) {
	return optional(ctx, g, "Check", func(ctx context.Context, c sdk.Checker) ([]sdk.Finding, error) { return c.Check(ctx, q) })
}

func (g guarded) clean(ctx context.Context, in sdk.CleanInput) ([]sdk.Cleaned, error) {
	return optional(ctx, g, "Clean", func(ctx context.Context, c sdk.Cleaner) ([]sdk.Cleaned, error) { return c.Clean(ctx, in) })
}

func (g guarded) snapshot(ctx context.Context, handle, key string, cursor json.RawMessage) (sdk.SnapshotStep, error) {
	return optional(ctx, g, "Snapshot", func(ctx context.Context, s sdk.Snapshotter) (sdk.SnapshotStep, error) {
		return s.Snapshot(ctx, handle, key, cursor)
	})
}

// optional calls a method of I, which a provider has whose Describe names the feature of that
// name.
func optional[I, T any](ctx context.Context, g guarded, method string, run func(context.Context, I) (T, error)) (T, error) {
	return call(ctx, g.l.guard, method, func(ctx context.Context) (T, error) {
		p, ok := g.p.(I)
		if !ok {
			var none T
			return none, defect{fmt.Sprintf("Describe names the feature %s, and the provider has no method %s", strings.ToLower(method), method)}
		}
		return run(ctx, p)
	})
}
