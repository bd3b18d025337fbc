package egress

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// guest does what a plugin does with a session.
type guest struct {
	t      *testing.T
	s      *Session
	kept   map[int64][]happened // events of streams that nobody has asked for yet
	cancel bool
}

type happened struct {
	sdk.Event
	payload []byte
}

// answer is what a plugin got from one stream.
type answer struct {
	status  int
	headers map[string][]string
	body    string
	data    []string
	end     sdk.Event
	details []byte
}

// world is a manifest, the user's variables and the addresses of names.
type world struct {
	manifest sdk.Manifest
	env      map[string]string
	home     string
	names    map[string]string // host name → address
	servers  map[string]string // address → the test's listener behind it
	limits   Limits
	audits   *[]Audit
	options  func(*Options)
}

func (w world) gateway(t *testing.T) *Gateway {
	t.Helper()
	if problems := Check(w.manifest); len(problems) > 0 {
		t.Fatalf("manifest: %v", problems)
	}
	var mu sync.Mutex
	o := Options{Manifest: w.manifest, Home: w.home, Limits: w.limits}
	o.Env = func(name string) (string, string, bool) { v, ok := w.env[name]; return v, "", ok }
	o.Resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
		if a, ok := w.names[host]; ok {
			return []netip.Addr{netip.MustParseAddr(a)}, nil
		}
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	o.connect = func(ctx context.Context, addr string) (net.Conn, error) {
		if to, ok := w.servers[addr]; ok {
			addr = to
		} else if ap, err := netip.ParseAddrPort(addr); err != nil || !ap.Addr().IsLoopback() {
			t.Errorf("a connection to %s", addr)
			return nil, &net.OpError{Op: "dial", Err: net.ErrClosed}
		}
		return connectTCP(ctx, addr)
	}
	if w.audits != nil {
		o.Audit = func(a Audit) { mu.Lock(); *w.audits = append(*w.audits, a); mu.Unlock() }
	}
	if w.options != nil {
		w.options(&o)
	}
	g := New(o)
	t.Cleanup(g.Close)
	return g
}

func (w world) guest(t *testing.T) *guest {
	t.Helper()
	return guestOf(t, w.gateway(t))
}

func guestOf(t *testing.T, g *Gateway) *guest {
	s := g.Session(context.Background())
	t.Cleanup(s.Close)
	return &guest{t: t, s: s, kept: map[int64][]happened{}}
}

// pump waits until at least one event has come.
func (g *guest) pump() {
	g.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; {
		out := g.s.Wait(time.Second)
		for len(out) > 0 {
			n := binary.LittleEndian.Uint32(out)
			var e happened
			if err := json.Unmarshal(out[4:4+n], &e.Event); err != nil {
				g.t.Fatal(err)
			}
			out = out[4+n:]
			e.payload, out = out[:e.Size], out[e.Size:]
			if e.Kind == sdk.EventCancel {
				g.cancel = true
			}
			g.kept[e.Stream] = append(g.kept[e.Stream], e)
			if len(out) == 0 {
				return
			}
		}
		if time.Now().After(end) {
			g.t.Fatal("no event came")
		}
	}
}

// next is the next event of a stream.
func (g *guest) next(id int64) happened {
	g.t.Helper()
	for len(g.kept[id]) == 0 {
		g.pump()
	}
	e := g.kept[id][0]
	g.kept[id] = g.kept[id][1:]
	return e
}

// read takes all that a stream gives.
func (g *guest) read(id int64) answer {
	g.t.Helper()
	var a answer
	var body strings.Builder
	for {
		e := g.next(id)
		switch e.Kind {
		case sdk.EventHead:
			a.status, a.headers = e.Status, e.Headers
		case sdk.EventData:
			body.Write(e.payload)
			a.data = append(a.data, string(e.payload))
			g.s.Credit(id, int64(len(e.payload)))
		case sdk.EventEnd:
			a.end, a.details, a.body = e.Event, e.payload, body.String()
			return a
		}
	}
}

// send hands over a piece, waiting for room.
func (g *guest) send(id int64, data string, flags uint32) {
	g.t.Helper()
	for {
		switch g.s.Send(id, []byte(data), flags|sdk.SendData) {
		case sdk.SendOK:
			return
		case sdk.SendOver:
			return
		}
		var others []happened
		for e := g.next(id); e.Kind != sdk.EventRoom; e = g.next(id) {
			others = append(others, e)
			if e.Kind == sdk.EventEnd { // what is sent further is over
				break
			}
		}
		g.kept[id] = append(others, g.kept[id]...)
	}
}

// exchange goes on with a stream that was begun: it sends a body in pieces, where there is one,
// and takes the answer.
func (g *guest) exchange(o sdk.Opened, err error, hasBody bool, body string) (answer, error) {
	g.t.Helper()
	if err != nil {
		return answer{}, err
	}
	if hasBody {
		for piece := range slices.Chunk([]byte(body), 64<<10) {
			g.send(o.Stream, string(piece), 0)
		}
		g.s.Send(o.Stream, nil, sdk.SendEnd)
	}
	return g.finish(o.Stream)
}

// finish takes all that a stream gives, and the error that it ends with.
func (g *guest) finish(id int64) (answer, error) {
	g.t.Helper()
	a := g.read(id)
	if a.end.Error != nil {
		return a, a.end.Error
	}
	return a, nil
}

func (g *guest) http(in sdk.HTTPOpen) (answer, error) {
	g.t.Helper()
	o, err := g.s.OpenHTTP(in)
	return g.exchange(o, err, false, "")
}

func (g *guest) get(url string) (answer, error) {
	g.t.Helper()
	return g.http(sdk.HTTPOpen{Method: "GET", URL: url})
}

const token = "tok-4f9a/3c+17e2==xyz"

// cloud is a manifest with one destination that the user configures and one secret
// for it.
func cloud() sdk.Manifest {
	return sdk.Manifest{
		ID:       "provider-cloud",
		Settings: []sdk.Setting{{Name: "endpoint", Doc: "The API", Env: []string{"CLOUD_URL"}, Default: "https://example.com"}},
		Permissions: sdk.Permissions{HTTP: []sdk.HTTPPermission{{Destination: "{endpoint}", Methods: []string{"GET", "HEAD", "POST"},
			Paths: []string{"/v2/**"}, Reason: "to rent"}}},
		Secrets: []sdk.Secret{{Name: "api-key", Doc: "Make one in the console.", Env: []string{"CLOUD_KEY"},
			Bind: []sdk.Binding{{Destination: "{endpoint}", Header: "Authorization", Format: "Bearer {}"}}}},
	}
}

// serve runs a handler on loopback, and a world in which the user has configured it.
func serve(t *testing.T, h http.HandlerFunc) (string, world) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL, world{manifest: cloud(), env: map[string]string{"CLOUD_URL": srv.URL, "CLOUD_KEY": token}}
}
