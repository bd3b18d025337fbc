package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk"
)

// What sdk/guest offers for HTTP and gRPC, used inside real Wasm on the real host by
// the guest courier, which runs errands between here and two servers.

const courierKey = "sk-courier-0123456789"

// destination is where the courier goes.
type destination struct {
	pb.UnimplementedTestServiceServer
	t       testing.TB
	seen    chan string   // what was reported as seen
	gone    chan struct{} // an endless answer or a call without one was given up
	reached chan struct{} // a request that gets no answer has arrived
	cleared chan struct{} // what was rented was given back

	mu      sync.Mutex
	waiting int
	all     chan struct{}
}

func newDestination(t testing.TB) *destination {
	return &destination{t: t, seen: make(chan string, 10), gone: make(chan struct{}, 10), reached: make(chan struct{}, 10),
		cleared: make(chan struct{}, 10), all: make(chan struct{})}
}

// courier returns the provider in a host of its own.
func (d *destination) courier() sdk.Provider {
	t := d.t
	t.Helper()
	dir := guests(t, "courier")
	env := map[string]string{"COURIER_HTTP": d.serveHTTP(), "COURIER_GRPC": d.serveGRPC(), "COURIER_KEY": courierKey}
	h := open(t, host.Options{Dirs: []string{dir}, Env: func(name string) (string, string, bool) {
		value, ok := env[name]
		return value, "the test", ok
	}})
	p, err := h.Provider(context.Background(), "courier")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (d *destination) serveHTTP() string {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /open/echo", func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			d.t.Error(err)
		}
		_, _ = io.Copy(w, r.Body)
	})
	mux.HandleFunc("GET /open/events", d.events)
	mux.HandleFunc("/open/seen/{what}", func(_ http.ResponseWriter, r *http.Request) { d.seen <- r.PathValue("what") })
	mux.HandleFunc("GET /open/redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/open/arrived", http.StatusFound)
	})
	mux.HandleFunc("GET /open/arrived", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "arrived") })
	mux.HandleFunc("GET /open/astray", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/closed", http.StatusFound)
	})
	mux.HandleFunc("GET /open/never", func(_ http.ResponseWriter, r *http.Request) {
		d.reached <- struct{}{}
		<-r.Context().Done()
	})
	mux.HandleFunc("GET /open/silent", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("GET /open/endless", func(w http.ResponseWriter, _ *http.Request) {
		for err := error(nil); err == nil; {
			_, err = w.Write(make([]byte, 64<<10))
		}
		d.gone <- struct{}{}
	})
	mux.HandleFunc("GET /open/headers", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Was", r.Header.Get("Authorization"))
		fmt.Fprintf(w, "%v", r.Header)
	})
	mux.HandleFunc("DELETE /open/rented", func(http.ResponseWriter, *http.Request) { d.cleared <- struct{}{} })
	mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) { d.t.Errorf("a request for %s arrived", r.URL) })
	server := httptest.NewServer(mux)
	d.t.Cleanup(server.Close)
	return server.URL
}

// events sends each event when the one before it was seen.
func (d *destination) events(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range 5 {
		fmt.Fprintf(w, "data: %d\n\n", i)
		w.(http.Flusher).Flush()
		if got := <-d.seen; got != fmt.Sprint(i) {
			d.t.Errorf("event %d was seen as %s", i, got)
		}
	}
}

func (d *destination) serveGRPC() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		d.t.Fatal(err)
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(8 << 20))
	pb.RegisterTestServiceServer(server, d)
	go func() { _ = server.Serve(listener) }()
	d.t.Cleanup(server.Stop)
	return "http://" + listener.Addr().String()
}

func number(md metadata.MD, key string) int {
	if len(md.Get(key)) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(md.Get(key)[0])
	return n
}

// UnaryCall answers, fails, or waits, as it is asked to.
func (d *destination) UnaryCall(ctx context.Context, in *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	keys := append([]string{}, md.Get("x-key")...)
	err := errors.Join(grpc.SetHeader(ctx, metadata.MD{"key": keys, "raw-bin": md.Get("raw-bin")}), grpc.SetTrailer(ctx, metadata.MD{"key": keys}))
	if err != nil {
		return nil, err
	}
	if code := in.GetResponseStatus().GetCode(); code != 0 {
		st, err := status.New(codes.Code(code), in.GetResponseStatus().GetMessage()).WithDetails(&errdetails.ErrorInfo{Reason: "too much, said " + strings.Join(keys, "")})
		if err != nil {
			return nil, err
		}
		return nil, st.Err()
	}
	if number(md, "attempt") < number(md, "fail-until") {
		return nil, status.Error(codes.Unavailable, "not yet")
	}
	if in.GetFillUsername() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	d.gather(number(md, "wait-for"))
	return &pb.SimpleResponse{Payload: in.GetPayload()}, nil
}

// gather waits until there are n.
func (d *destination) gather(n int) {
	if n == 0 {
		return
	}
	d.mu.Lock()
	if d.waiting++; d.waiting == n {
		close(d.all)
	}
	d.mu.Unlock()
	<-d.all
}

// StreamingOutputCall sends what is asked for.
func (d *destination) StreamingOutputCall(in *pb.StreamingOutputCallRequest, out grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
	for _, p := range in.GetResponseParameters() {
		if err := out.Send(&pb.StreamingOutputCallResponse{Payload: &pb.Payload{Body: make([]byte, p.GetSize())}}); err != nil {
			return err
		}
	}
	return nil
}

// StreamingInputCall adds up what it gets.
func (d *destination) StreamingInputCall(in grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
	sum := 0
	for {
		m, err := in.Recv()
		if errors.Is(err, io.EOF) {
			return in.SendAndClose(&pb.StreamingInputCallResponse{AggregatedPayloadSize: int32(sum)})
		}
		if err != nil {
			return err
		}
		sum += len(m.GetPayload().GetBody())
	}
}

// FullDuplexCall sends back what it gets.
func (d *destination) FullDuplexCall(both grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
	for {
		m, err := both.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := both.Send(&pb.StreamingOutputCallResponse{Payload: m.GetPayload()}); err != nil {
			return err
		}
	}
}

// told is what the courier tells of an errand.
type told struct {
	raw string
	any map[string]any
}

func carry(ctx context.Context, p sdk.Provider, errand string) (told, error) {
	options, err := json.Marshal(errand)
	if err != nil {
		return told{}, err
	}
	offers, err := p.Offers(ctx, sdk.OfferQuery{Options: options})
	if err != nil {
		return told{}, err
	}
	r := told{raw: offers[0].ID}
	return r, json.Unmarshal([]byte(r.raw), &r.any)
}

func mustCarry(t *testing.T, p sdk.Provider, errand string) told {
	t.Helper()
	r, err := carry(t.Context(), p, errand)
	if err != nil {
		t.Fatalf("%s: %v", errand, err)
	}
	t.Logf("%s: %.300s", errand, r.raw)
	return r
}

// want compares one thing that was told.
func (r told) want(t *testing.T, want any, path ...string) {
	t.Helper()
	var got any = r.any
	for _, key := range path {
		inner, _ := got.(map[string]any)
		got = inner[key]
	}
	if f, ok := want.(int); ok {
		want = float64(f)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, want %v", strings.Join(path, "."), got, want)
	}
}

func list(items ...any) []any { return items }

// One courier for all errands: starting it takes longer than most of them.
func TestCourier(t *testing.T) {
	d := newDestination(t)
	p := d.courier()
	for _, errand := range []struct {
		name string
		test func(*testing.T, *destination, sdk.Provider)
	}{
		{"HTTP", courierHTTP},
		{"gRPC", courierGRPC},
		{"sees no secret", courierSecret},
		{"is given up", courierGivenUp},
		{"leaves something open", courierLingers},
		{"several calls at once", courierAtOnce},
		{"snapshot", courierSnapshot},
	} {
		t.Run(errand.name, func(t *testing.T) { errand.test(t, d, p) })
	}
}

func courierHTTP(t *testing.T, d *destination, p sdk.Provider) {
	r := mustCarry(t, p, "settings")
	r.want(t, "two pence", "settings", "stamp")
	r.want(t, "", "unknown")
	r.want(t, []any{}, "environment")

	r = mustCarry(t, p, "echo")
	r.want(t, true, "same")
	r.want(t, 8<<20, "bytes")

	r = mustCarry(t, p, "events")
	r.want(t, list("0", "1", "2", "3", "4"), "seen")
	r.want(t, "text/event-stream", "type")

	r = mustCarry(t, p, "redirect")
	r.want(t, "200 OK arrived", "got")
	r.want(t, "unauthorized", "elsewhere", "code")

	r = mustCarry(t, p, "refused")
	for _, what := range []string{"path", "method", "place"} {
		r.want(t, "unauthorized", what, "code")
	}

	r = mustCarry(t, p, "timeout")
	r.want(t, "unavailable", "error", "code")
	r.want(t, true, "error", "deadline")

	r = mustCarry(t, p, "give up")
	r.want(t, true, "error", "cancelled")
	<-d.gone
	<-d.gone
}

func courierGRPC(t *testing.T, _ *destination, p sdk.Provider) {
	r := mustCarry(t, p, "unary")
	r.want(t, "hello", "body")
	r.want(t, true, "raw")
	r.want(t, "ResourceExhausted", "failed")
	r.want(t, "PermissionDenied", "refused")
	r.want(t, "unauthorized", "refused_code")
	r.want(t, "DeadlineExceeded", "late")
	if reason := fmt.Sprint(r.any["reason"]); !strings.Contains(reason, "too much, said ") {
		t.Errorf("details of a status: %s", reason)
	}
	if strings.Contains(r.raw, courierKey) || strings.Contains(r.raw, "mine") {
		t.Errorf("the guest saw a credential: %s", r.raw)
	}

	r = mustCarry(t, p, "streams")
	r.want(t, list(1.0, float64(2<<20), 0.0), "sizes")
	r.want(t, 10*200<<10, "sum")
	r.want(t, list("turn 0", "turn 1", "turn 2"), "said")

	mustCarry(t, p, "many").want(t, 20, "calls")

	r = mustCarry(t, p, "interceptors")
	r.want(t, "at last", "body")
	r.want(t, 4, "attempts") // three until it works, one that is answered too large
	r.want(t, "ResourceExhausted", "large")
	r.want(t, "EOF", "end")
}

// Whatever comes back, the guest sees its credential nowhere.
func courierSecret(t *testing.T, _ *destination, p sdk.Provider) {
	r := mustCarry(t, p, "secret")
	if strings.Contains(r.raw, courierKey) || strings.Contains(r.raw, "mine") {
		t.Errorf("the guest saw a credential: %s", r.raw)
	}
	if body := fmt.Sprint(r.any["body"]); !strings.Contains(body, "Bearer ") || !strings.Contains(body, "kept") {
		t.Errorf("the server saw %s", body)
	}
}

// A call that the engine gives up ends in the guest, which can still clear up behind
// itself, whether a stream was open or not. The instance is as good as before.
func courierGivenUp(t *testing.T, d *destination, p sdk.Provider) {
	for _, errand := range []string{"patient", "asleep"} {
		t.Run(errand, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			var r told
			done := make(chan error)
			go func() {
				var err error
				r, err = carry(ctx, p, errand)
				done <- err
			}()
			if errand == "patient" {
				<-d.reached
			} else {
				<-d.seen
			}
			cancel()
			if err := <-done; err != nil {
				t.Fatalf("what it did to the end is lost: %v", err)
			}
			r.want(t, true, "error", "cancelled")
			select {
			case <-d.cleared:
			default:
				t.Error("nothing was cleared up")
			}
			mustCarry(t, p, "redirect").want(t, "200 OK arrived", "got")
		})
	}
}

// What a call leaves open ends with it, and the next call in the same instance is none
// the worse.
func courierLingers(t *testing.T, d *destination, p sdk.Provider) {
	for range 3 {
		mustCarry(t, p, "linger")
		<-d.gone
		r := mustCarry(t, p, "lingered")
		r.want(t, true, "left", "cancelled")
		r.want(t, "200 OK arrived", "got")
	}
}

// Calls of one plugin run side by side, each in an instance of its own.
func courierAtOnce(t *testing.T, _ *destination, p sdk.Provider) {
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if r, err := carry(t.Context(), p, "streams"); err != nil {
				t.Error(err)
			} else {
				r.want(t, 10*200<<10, "sum")
			}
		})
	}
	group.Wait()
}

func courierSnapshot(t *testing.T, _ *destination, p sdk.Provider) {
	s, ok := p.(sdk.Snapshotter)
	if !ok {
		t.Fatal("the provider saves no file systems, though its plugin does")
	}
	step, err := s.Snapshot(t.Context(), "m1", "k1", nil)
	if err != nil || step.Image != "" || len(step.Log) != 1 {
		t.Fatalf("%+v, %v", step, err)
	}
	step, err = s.Snapshot(t.Context(), "m1", "k1", step.Cursor)
	if err != nil || step.Image != `k1 of m1 after "half"` {
		t.Errorf("%+v, %v", step, err)
	}
}

// BenchmarkCourier measures what the way through the host costs, beside the direct one.
func BenchmarkCourier(b *testing.B) {
	d := newDestination(b)
	p := d.courier()
	r, err := carry(context.Background(), p, "latency")
	for b.Loop() {
		if err == nil {
			r, err = carry(context.Background(), p, "latency")
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(r.any["unary_ms"].(float64)*1000, "µs/unary")
	b.ReportMetric(float64(direct(b, d).Microseconds()), "µs/direct")
	b.ReportMetric(r.any["late_ms"].(float64), "ms-late/sleep")
}

// direct is how long a call takes without Wasm.
func direct(b *testing.B, d *destination) time.Duration {
	conn, err := grpc.NewClient(strings.TrimPrefix(d.serveGRPC(), "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	const n = 200
	var start time.Time
	for i := range n + 1 {
		if i == 1 { // the first connects
			start = time.Now()
		}
		if _, err := pb.NewTestServiceClient(conn).UnaryCall(context.Background(), &pb.SimpleRequest{}); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start) / n
}
