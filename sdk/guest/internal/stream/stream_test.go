package stream_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/internal/call"
	"github.com/seer-engine/seer/sdk/guest/internal/stream"
	"github.com/seer-engine/seer/sdk/guest/internal/stream/streamtest"
)

// echo sends every piece back and then the end.
func echo(x *streamtest.Exchange) {
	x.Head(200, map[string][]string{"stream": {fmt.Sprint(x.ID())}})
	if x.Echo() {
		x.End(sdk.Event{Message: "done"}, nil)
	}
}

func start(t *testing.T, serve func(*streamtest.Exchange)) (*stream.Pump, *streamtest.Host, *call.Calls) {
	t.Helper()
	host := streamtest.New(t)
	host.GRPC, host.HTTP = serve, serve
	calls := &call.Calls{}
	return stream.New(host, calls), host, calls
}

func open(t *testing.T, p *stream.Pump, ctx context.Context) *stream.Stream {
	t.Helper()
	s, err := p.OpenGRPC(ctx, sdk.GRPCOpen{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func readAll(s *stream.Stream) ([]byte, *stream.End) {
	var all []byte
	for {
		piece, end := s.Next()
		if end != nil {
			return all, end
		}
		all = append(all, piece...)
	}
}

func wantEnd(t *testing.T, s *stream.Stream, want error) {
	t.Helper()
	if _, end := readAll(s); !errors.Is(end.Err, want) {
		t.Errorf("the stream ended with %v, want %v", end.Err, want)
	}
}

// As many streams as there may be, all at once, both ways, each with more than the
// host takes at a time.
func TestManyStreams(t *testing.T) {
	p, host, _ := start(t, echo)
	host.Room = 4 << 10
	var group sync.WaitGroup
	for i := range sdk.MaxStreams {
		s := open(t, p, t.Context())
		sent := bytes.Repeat([]byte{byte(i)}, 100<<10+i)
		group.Go(func() {
			for rest := sent; len(rest) > 0; {
				n := min(1+rand.IntN(8<<10), len(rest))
				if err := s.Send(rest[:n], sdk.SendData); err != nil {
					t.Errorf("stream %d: %v", i, err)
				}
				rest = rest[n:]
			}
			s.CloseSend()
		})
		group.Go(func() {
			got, end := readAll(s)
			if !bytes.Equal(got, sent) || end.Err != nil || end.Event.Message != "done" {
				t.Errorf("stream %d: %d bytes of %d, %+v", i, len(got), len(sent), end)
			}
			if head := s.Head(); head == nil || head.Status != 200 {
				t.Errorf("stream %d: head %+v", i, head)
			}
		})
	}
	group.Wait()
}

func TestHugeMessage(t *testing.T) {
	p, _, _ := start(t, echo)
	s := open(t, p, t.Context())
	sent := bytes.Repeat([]byte("seer"), 2<<20)
	for _, size := range []int{0, 1, len(sent), 7, 900 << 10, 900 << 10, len(sent)} {
		if err := s.Send(sent[:size], sdk.SendData); err != nil {
			t.Fatal(err)
		}
		if got, end := s.Next(); end != nil || !bytes.Equal(got, sent[:size]) {
			t.Fatalf("%d bytes came back as %d (%+v)", size, len(got), end)
		}
	}
	s.CloseSend()
	wantEnd(t, s, nil)
}

func TestEndWithoutHead(t *testing.T) {
	fault := sdk.Errorf(sdk.Unavailable, "no route")
	p, _, _ := start(t, func(x *streamtest.Exchange) { x.End(sdk.Event{Error: fault}, nil) })
	s := open(t, p, t.Context())
	if head := s.Head(); head != nil {
		t.Errorf("head %+v", head)
	}
	wantEnd(t, s, &sdk.Error{Code: sdk.Unavailable})
	if err := s.Send([]byte("late"), sdk.SendData); !errors.Is(err, stream.ErrOver) {
		t.Errorf("sending after the end: %v", err)
	}
	s.CloseSend()
}

func TestOpenRefused(t *testing.T) {
	p, host, _ := start(t, nil)
	if _, err := p.OpenHTTP(t.Context(), sdk.HTTPOpen{}); sdk.CodeOf(err) != sdk.Unauthorized {
		t.Error(err)
	}
	host.HTTP = echo
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.OpenHTTP(ctx, sdk.HTTPOpen{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A stream that nobody waits for is given up with its context; what is still on the
// way to it is dropped, and its neighbours do not notice.
func TestCancelInTheMiddle(t *testing.T) {
	gone := make(chan struct{})
	p, _, _ := start(t, func(x *streamtest.Exchange) {
		x.Head(200, nil)
		piece := make([]byte, 64<<10)
		for x.Data(piece) {
			piece[0]++
		}
		<-x.Gone()
		gone <- struct{}{}
	})
	other := open(t, p, t.Context())
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		s := open(t, p, ctx)
		if piece, end := s.Next(); end != nil || piece[0] != 0 {
			t.Fatalf("%v %+v", piece, end)
		}
		cancel()
		<-s.Done()
		wantEnd(t, s, context.Canceled)
		<-gone
		for i := range 3 { // the neighbour's data come in order
			first, _ := other.Next()
			second, _ := other.Next()
			if second[0] != first[0]+1 {
				t.Fatalf("round %d: %v after %v", i, second, first)
			}
		}
	}
	other.Fail(io.ErrUnexpectedEOF)
	<-gone
	other.Fail(io.ErrNoProgress) // without effect
	wantEnd(t, other, io.ErrUnexpectedEOF)
}

func TestDeadline(t *testing.T) {
	p, _, _ := start(t, func(x *streamtest.Exchange) { <-x.Gone() })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	wantEnd(t, open(t, p, ctx), context.DeadlineExceeded)
}

// Whoever waits for room is woken by the end.
func TestEndWhileSending(t *testing.T) {
	p, host, _ := start(t, func(x *streamtest.Exchange) {
		x.Receive()
		x.End(sdk.Event{Code: 9}, nil)
	})
	host.Room = 1
	s := open(t, p, t.Context())
	var err error
	for err == nil {
		err = s.Send([]byte("data"), sdk.SendData)
	}
	if !errors.Is(err, stream.ErrOver) {
		t.Error(err)
	}
	if _, end := readAll(s); end.Event.Code != 9 {
		t.Errorf("%+v", end)
	}
}

// Closing never waits, not even when the host has no room for it.
func TestCloseSendWithoutRoom(t *testing.T) {
	release := make(chan struct{})
	p, host, _ := start(t, func(x *streamtest.Exchange) { <-release; echo(x) })
	host.Room = 1
	s := open(t, p, t.Context())
	if err := s.Send([]byte("a"), sdk.SendData); err != nil {
		t.Fatal(err)
	}
	s.CloseSend()
	close(release)
	if got, end := readAll(s); string(got) != "a" || end.Err != nil {
		t.Errorf("%q %+v", got, end)
	}
}

// The engine gives up: the context of the call ends, also when no stream is open, and
// with it the streams that stand on it.
func TestSoftCancel(t *testing.T) {
	p, host, calls := start(t, func(x *streamtest.Exchange) {
		if x.GRPC.Method == "short" {
			x.End(sdk.Event{}, nil)
		} else {
			<-x.Gone()
		}
	})
	for _, method := range []string{"short", "long"} {
		ctx, end := calls.Begin()
		s, err := p.OpenGRPC(ctx, sdk.GRPCOpen{Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if method == "short" {
			wantEnd(t, s, nil)
		}
		host.Cancel()
		<-ctx.Done()
		if method == "long" {
			wantEnd(t, s, context.Canceled)
		}
		end()
		host.Cancel() // of no call
		if calls.Running() {
			t.Error("a call is running")
		}
	}
}

// What an earlier call left open is over at the beginning of the next.
func TestNextCall(t *testing.T) {
	p, host, calls := start(t, func(x *streamtest.Exchange) {
		x.Data([]byte("unread"))
		<-x.Gone()
	})
	_, end := calls.Begin()
	left := open(t, p, context.Background())
	ready := make(chan error)
	go func() {
		left.Head()
		ready <- left.Send(nil, sdk.SendData)
	}()
	host.EndAll()
	end()
	ctx, end := calls.Begin()
	defer end()
	if err := <-ready; !errors.Is(err, stream.ErrOver) {
		t.Errorf("sending on a stream of an earlier call: %v", err)
	}
	if piece, end := left.Next(); end == nil || !errors.Is(end.Err, context.Canceled) {
		t.Errorf("%q, %+v", piece, end)
	}
	s := open(t, p, ctx)
	if piece, _ := s.Next(); string(piece) != "unread" {
		t.Errorf("%q", piece)
	}
	s.Fail(io.EOF)
}

// A host that cannot be understood ends everything, in words.
func TestUnreadableEvents(t *testing.T) {
	p, host, _ := start(t, func(x *streamtest.Exchange) { <-x.Gone() })
	a, b := open(t, p, t.Context()), open(t, p, t.Context())
	host.Raw([]byte{9, 0, 0, 0, 'x'})
	for _, s := range []*stream.Stream{a, b} {
		_, end := s.Next()
		if sdk.CodeOf(end.Err) != sdk.Internal || !strings.Contains(end.Err.Error(), "cannot be read") {
			t.Errorf("%v", end.Err)
		}
	}
}

func TestStrangeEvents(t *testing.T) {
	p, host, _ := start(t, echo)
	s := open(t, p, t.Context())
	host.Raw(streamtest.Encode(sdk.Event{Stream: 999, Kind: sdk.EventData}, []byte("whose?")))
	host.Raw(streamtest.Encode(sdk.Event{Stream: 1, Kind: "later"}, []byte("what?")))
	s.CloseSend()
	if got, end := readAll(s); len(got) != 0 || end.Err != nil {
		t.Errorf("%q %+v", got, end)
	}
}

// The pump is there only while it is needed.
func TestPumpEnds(t *testing.T) {
	before := runtime.NumGoroutine()
	p, _, _ := start(t, echo)
	for range 3 {
		s := open(t, p, t.Context())
		s.CloseSend()
		wantEnd(t, s, nil)
	}
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if runtime.NumGoroutine() <= before {
			return
		}
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

// Outside Wasm nothing is opened, in words.
func TestNatively(t *testing.T) {
	_, err := stream.Instance().OpenHTTP(t.Context(), sdk.HTTPOpen{})
	if sdk.CodeOf(err) != sdk.Unsupported || !strings.Contains(err.Error(), "only in a Wasm plugin") {
		t.Error(err)
	}
}

func TestTimeout(t *testing.T) {
	if got := stream.Timeout(context.Background()); got != 0 {
		t.Errorf("no deadline: %v", got)
	}
	for past, limit := range map[time.Duration]float64{time.Hour: 3600, -time.Hour: 0.001} {
		ctx, cancel := context.WithTimeout(t.Context(), past)
		if got := stream.Timeout(ctx); got <= 0 || got > limit {
			t.Errorf("%v: %v s", past, got)
		}
		cancel()
	}
}

// FuzzEvents feeds the pump what no host should send, between an opening and an end.
func FuzzEvents(f *testing.F) {
	f.Add(streamtest.Encode(sdk.Event{Stream: 1, Kind: sdk.EventHead, Status: 200, Headers: map[string][]string{"a": {"b"}}}, nil))
	f.Add(streamtest.Encode(sdk.Event{Stream: 1, Kind: sdk.EventEnd, Code: 3}, []byte("status")))
	f.Add(streamtest.Encode(sdk.Event{Kind: sdk.EventCancel}, nil))
	f.Add(binary.LittleEndian.AppendUint32(nil, 1<<31))
	f.Add([]byte("\x0f\x00\x00\x00" + `{"s":1,"n":100}`))
	f.Add([]byte("\x0e\x00\x00\x00" + `{"s":1,"n":-1}`))
	f.Fuzz(func(t *testing.T, block []byte) {
		host := &scripted{block: block}
		p := stream.New(host, &call.Calls{})
		s, err := p.OpenGRPC(context.Background(), sdk.GRPCOpen{})
		if err != nil {
			t.Fatal(err)
		}
		if _, end := readAll(s); end == nil {
			t.Error("no end")
		}
	})
}

// scripted is a host of one stream: a block of events, and then a proper end.
type scripted struct{ block []byte }

func (*scripted) OpenHTTP(sdk.HTTPOpen) (int64, error) { return 1, nil }
func (*scripted) OpenGRPC(sdk.GRPCOpen) (int64, error) { return 1, nil }
func (*scripted) OpenSSH(sdk.SSHOpen) (int64, error)   { return 1, nil }
func (*scripted) OpenKube(sdk.KubeOpen) (int64, error) { return 1, nil }
func (*scripted) Send(int64, []byte, int32) int32      { return sdk.SendOK }
func (*scripted) Credit(int64, int64)                  {}
func (h *scripted) Wait(time.Duration) []byte {
	block := h.block
	h.block = streamtest.Encode(sdk.Event{Stream: 1, Kind: sdk.EventEnd}, nil)
	return block
}
