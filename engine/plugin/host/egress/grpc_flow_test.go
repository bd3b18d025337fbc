package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seer-engine/seer/sdk"
)

func TestRPCDeadlineAndCancel(t *testing.T) {
	gone := make(chan struct{}, 2)
	url, w := rpcWorld(t, func(_ string, _ metadata.MD, rpc grpc.ServerStream) error {
		<-rpc.Context().Done()
		gone <- struct{}{}
		return status.FromContextError(rpc.Context().Err()).Err()
	})
	g := w.guest(t)
	a, err := g.rpc(sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/Do", TimeoutSeconds: 0.05}, "x")
	if err != nil || codes.Code(a.end.Code) != codes.DeadlineExceeded {
		t.Errorf("%+v, %v", a.end, err)
	}
	<-gone
	o, err := g.s.OpenGRPC(sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/Do", TimeoutSeconds: 3600})
	if err != nil {
		t.Fatal(err)
	}
	g.send(o.Stream, "x", 0)
	g.s.Send(o.Stream, nil, sdk.SendCancel)
	if out := g.s.Wait(20 * time.Millisecond); out != nil {
		t.Errorf("events after cancel: %q", out)
	}
}

// beginRPC begins an RPC to a server.
func (g *guest) beginRPC(url string) int64 {
	g.t.Helper()
	o, err := g.s.OpenGRPC(sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/Do"})
	if err != nil {
		g.t.Fatal(err)
	}
	return o.Stream
}

func TestRPCTooLarge(t *testing.T) {
	url, w := rpcWorld(t, func(_ string, _ metadata.MD, rpc grpc.ServerStream) error {
		return rpc.SendMsg(make([]byte, sdk.MaxMessage+1))
	})
	a, err := w.guest(t).rpc(sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/Do"}, "x")
	if err != nil || codes.Code(a.end.Code) != codes.ResourceExhausted || len(a.data) != 0 {
		t.Errorf("%+v, %v", a.end, err)
	}
}

// What the server says while nobody takes it stays with the server.
func TestRPCCredit(t *testing.T) {
	var sent sync.WaitGroup
	sent.Add(1)
	url, w := rpcWorld(t, func(_ string, _ metadata.MD, rpc grpc.ServerStream) error {
		defer sent.Done()
		for range 100 {
			if err := rpc.SendMsg(make([]byte, 1<<20)); err != nil {
				return err
			}
		}
		return nil
	})
	g := w.guest(t)
	id := g.beginRPC(url)
	for e := g.next(id); e.Kind != sdk.EventData; e = g.next(id) {
	}
	if out := g.s.Wait(30 * time.Millisecond); out != nil {
		t.Error("a second message came without credit")
	}
	g.s.Credit(id, 1<<20)
	if a := g.read(id); len(a.data) != 99 || a.end.Code != 0 {
		t.Errorf("%d messages, %+v", len(a.data), a.end)
	}
	sent.Wait()
}

// Empty messages cost no credit, and do not fill the host's memory either.
func TestRPCEmptyMessages(t *testing.T) {
	url, w := rpcWorld(t, func(_ string, _ metadata.MD, rpc grpc.ServerStream) error {
		for range 10 * maxPending {
			if err := rpc.SendMsg([]byte{}); err != nil {
				return err
			}
		}
		return nil
	})
	g := w.guest(t)
	id := g.beginRPC(url)
	st := g.s.stream(id)
	for end := time.Now().Add(time.Minute); st.pending.Load() < maxPending; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d messages came", st.pending.Load())
		}
	}
	if a := g.read(id); len(a.data) != 10*maxPending || st.pending.Load() != 0 {
		t.Errorf("%d messages", len(a.data))
	}
}

func TestRPCSendFull(t *testing.T) {
	read := make(chan struct{})
	url, w := rpcWorld(t, func(_ string, _ metadata.MD, rpc grpc.ServerStream) error {
		<-read
		n := 0
		for {
			var m []byte
			if err := rpc.RecvMsg(&m); errors.Is(err, io.EOF) {
				return rpc.SendMsg([]byte(fmt.Sprint(n)))
			} else if err != nil {
				return err
			}
			n++
		}
	})
	g := w.guest(t)
	id := g.beginRPC(url)
	n, msg := 0, make([]byte, 100<<10)
	for g.s.Send(id, msg, sdk.SendData) == sdk.SendOK {
		if n++; n > 10000 {
			t.Fatal("the queue has no bound")
		}
	}
	close(read)
	g.send(id, string(msg), sdk.SendEnd)
	if a := g.read(id); a.body != fmt.Sprint(n+1) {
		t.Errorf("the server got %s messages of %d", a.body, n+1)
	}
}

// Captures.

// One connection serves all calls of a destination.
func TestRPCConnectionIsShared(t *testing.T) {
	var mu sync.Mutex
	dials := 0
	url, w := rpcWorld(t, echo)
	w.options = func(o *Options) {
		connect := o.connect
		o.connect = func(ctx context.Context, addr string) (net.Conn, error) {
			mu.Lock()
			dials++
			mu.Unlock()
			return connect(ctx, addr)
		}
	}
	gw := w.gateway(t)
	var wg sync.WaitGroup
	for range 4 {
		g := guestOf(t, gw)
		wg.Go(func() {
			for range 16 {
				if a, err := g.rpc(sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/Do"}, "m"); err != nil || a.body != "m" {
					t.Errorf("%+v, %v", a, err)
				}
			}
		})
	}
	wg.Wait()
	if dials != 1 {
		t.Errorf("%d connections", dials)
	}
}

func TestPoolShrinks(t *testing.T) {
	p := &pool{public: &dialer{}, anywhere: &dialer{}, tls: (&Gateway{}).tls()}
	defer p.close()
	busy, err := p.get(target{origin: origin{"https", "busy", "443"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * maxConns {
		c, err := p.get(target{origin: origin{"https", fmt.Sprint("h", i), "443"}})
		if err != nil {
			t.Fatal(err)
		}
		p.put(c)
	}
	if len(p.conns) > maxConns || p.conns[target{origin: origin{"https", "busy", "443"}}] != busy {
		t.Errorf("%d connections are kept", len(p.conns))
	}
}
