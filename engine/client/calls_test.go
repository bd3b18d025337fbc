package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/closed"
	"github.com/seer-engine/seer/internal/testkit"
)

func call(fn string, args ...any) client.CallRequest {
	return client.CallRequest{Service: "tools", Function: fn, Args: args}
}

func TestCallsShareConnections(t *testing.T) {
	s := newFake(t)
	c := s.client(t)
	for i := range 50 {
		answer, err := c.Calls().Do(t.Context(), call("echo", i), client.CallHandler{})
		if err != nil || string(answer.Data) != fmt.Sprint(i) || answer.Seconds != 0.5 {
			t.Fatalf("%s, %v", answer.Data, err)
		}
		if _, err := c.Calls().Call(t.Context(), "tools", "boom", nil, nil); !errors.Is(err, &protocol.CallError{Code: protocol.CallRaised}) {
			t.Fatal(err)
		}
	}
	if n := s.accepted.Load(); n != 1 {
		t.Errorf("%d connections for calls one after the other", n)
	}
	names := map[string]bool{}
	for _, h := range s.heads {
		client, _, _ := strings.Cut(h.ID, "-")
		names[client] = true
	}
	if len(names) != 1 {
		t.Errorf("the calls of one client are named after %d", len(names))
	}
}

func TestManyCallsAtOnce(t *testing.T) {
	s := newFake(t)
	c := s.client(t)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			if got, err := c.Calls().Call(t.Context(), "tools", "echo", []any{i}, nil); err != nil || string(got) != fmt.Sprint(i) {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
	wg.Wait()
	if most, all := s.runs(); most != 1 || all != 200 {
		t.Errorf("%d calls ran, one of them %d times", all, most)
	}
}

// TestCutAtEveryByte breaks the first connection of a call at every byte: the call
// runs once, and everything that comes of it arrives once and in order.
func TestCutAtEveryByte(t *testing.T) {
	for at, whole := 0, false; !whole; at++ {
		s := newFake(t)
		c := s.client(t)
		s.mu.Lock()
		s.cut = []int{at}
		s.mu.Unlock()
		var printed strings.Builder
		on := client.CallHandler{Output: func(_ int, text string) { printed.WriteString(text) }}
		if _, err := c.Calls().Do(t.Context(), call("talk", 3), on); err != nil {
			t.Fatalf("cut at byte %d: %v", at, err)
		}
		if printed.String() != "line 0\nline 1\nline 2\n" {
			t.Fatalf("cut at byte %d: printed %q", at, printed.String())
		}
		if most, all := s.runs(); most != 1 || all != 1 {
			t.Fatalf("cut at byte %d: ran %d times", at, all)
		}
		whole = s.accepted.Load() == 1
		if at > 4000 {
			t.Fatal("the call has more bytes than it can have")
		}
	}
}

// TestCutAgainAndAgain has every connection carry only a little.
func TestCutAgainAndAgain(t *testing.T) {
	s := newFake(t)
	s.mu.Lock()
	for i := range 60 {
		s.cut = append(s.cut, 500+i*10)
	}
	s.mu.Unlock()
	var items []string
	on := client.CallHandler{Item: func(b client.Body) error { items = append(items, string(b.Data)); return nil }}
	if _, err := s.client(t).Calls().Do(t.Context(), call("count", 100), on); err != nil {
		t.Fatal(err)
	}
	for i, item := range items {
		if item != fmt.Sprint(i) {
			t.Fatalf("item %d is %s", i, item)
		}
	}
	if most, _ := s.runs(); len(items) != 100 || most != 1 {
		t.Errorf("%d items of a call that ran %d times", len(items), most)
	}
	repeated := slices.IndexFunc(s.heads, func(h protocol.FrameHeader) bool { return h.Age > 0 && h.From > 1 })
	if repeated < 0 {
		t.Error("no repeat said how old the call is and where to go on")
	}
}

func TestStreamedResultBeginsAgain(t *testing.T) {
	s := newFake(t)
	s.mu.Lock()
	s.cut = []int{1_000_000}
	s.mu.Unlock()
	var got bytes.Buffer
	begun := 0
	on := client.CallHandler{Result: func(tagged bool, size int64, body io.Reader) error {
		begun++
		got.Reset()
		_, err := io.Copy(&got, body)
		return err
	}}
	answer, err := s.client(t).Calls().Do(t.Context(), call("big", 3_000_000), on)
	if err != nil || len(answer.Data) != 0 || got.Len() != 3_000_002 || begun != 2 {
		t.Fatalf("%d bytes, begun %d times: %v", got.Len(), begun, err)
	}
	full := errors.New("the disk is full")
	on.Result = func(bool, int64, io.Reader) error { return full }
	if _, err := s.client(t).Calls().Do(t.Context(), call("big", 3_000_000), on); !errors.Is(err, full) {
		t.Fatalf("the handler's error: %v", err)
	}
}

func TestLargeAnswersAreAcknowledged(t *testing.T) {
	s := newFake(t)
	c := s.client(t)
	big, err := c.Calls().Do(t.Context(), call("big", 200_000), client.CallHandler{})
	if err != nil {
		t.Fatal(err)
	}
	small, err := c.Calls().Do(t.Context(), call("echo", 1), client.CallHandler{})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	testkit.Eventually(t, "both answers acknowledged", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return slices.Equal(s.acked, []string{big.ID, small.ID})
	})
}

func TestEndOfContextCancels(t *testing.T) {
	s := newFake(t)
	c := s.client(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r := call("sleep")
	r.ID = protocol.NewCallID()
	if _, err := c.Calls().Do(ctx, r, client.CallHandler{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	var failed *protocol.CallError
	if _, err := c.Calls().Attach(t.Context(), "tools", r.ID, 1, client.CallHandler{}).Wait(t.Context()); !errors.As(err, &failed) || failed.Code != protocol.CallCancelled {
		t.Fatalf("the call ended with %v", err)
	}
}

func TestStoppingAStreamCancels(t *testing.T) {
	s := newFake(t)
	c := s.client(t)
	n := 0
	for item, err := range c.Calls().Items(t.Context(), call("count", 100000), client.CallHandler{}) {
		if err != nil {
			t.Fatal(err)
		}
		if string(item.Data) != fmt.Sprint(n) {
			t.Fatalf("item %s, want %d", item.Data, n)
		}
		if n++; n == 5 {
			break
		}
	}
	testkit.Eventually(t, "the call cancelled", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return slices.ContainsFunc(s.heads, func(h protocol.FrameHeader) bool { return h.Kind == protocol.FrameCancel })
	})
	if got := <-s.more; got != 1 {
		t.Errorf("room was given first for event %d", got)
	}
}

func TestPendingCall(t *testing.T) {
	s := newFake(t)
	c := s.client(t)
	p, err := c.Calls().Start(t.Context(), call("sleep"), client.CallHandler{})
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := p.Wait(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("waiting: %v", err)
	}
	testkit.Eventually(t, "the call begun", func() bool { _, all := s.runs(); return all == 1 })
	if err := p.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(t.Context()); !errors.Is(err, &protocol.CallError{Code: protocol.CallCancelled}) {
		t.Fatalf("cancelled: %v", err)
	}
	p, err = c.Calls().Start(t.Context(), call("sleep"), client.CallHandler{})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the second begun", func() bool { _, all := s.runs(); return all == 2 })
	p.Leave()
	if s.calls[p.ID()].stopped() {
		t.Error("leaving has cancelled the call")
	}
	if _, err := c.Calls().Attach(t.Context(), "tools", "nobody-knows-1", 1, client.CallHandler{}).Wait(t.Context()); !errors.Is(err, &protocol.CallError{Code: protocol.CallUnknown}) {
		t.Errorf("an unknown call: %v", err)
	}
}

func (c *fakeCall) stopped() bool { return closed.Is(c.stop) }

// TestSubmit makes a detached call over a connection that breaks, and follows it from
// another client.
func TestSubmit(t *testing.T) {
	for _, at := range []int{0, 50, 200, 300, 350, 400, 450, 500, 550, 600, -1} {
		s := newFake(t)
		s.mu.Lock()
		s.cut = []int{at, at}
		s.mu.Unlock()
		got, err := s.client(t).Calls().Submit(t.Context(), call("echo", 7))
		if err != nil || got.State != protocol.CallRunning || !got.Detached {
			t.Fatalf("cut at %d: %+v, %v", at, got, err)
		}
		answer, err := s.client(t).Calls().Attach(t.Context(), "tools", got.ID, 1, client.CallHandler{}).Wait(t.Context())
		if err != nil || string(answer.Data) != "7" {
			t.Fatalf("cut at %d: %s, %v", at, answer.Data, err)
		}
		if most, all := s.runs(); most != 1 || all != 1 || !s.heads[0].Detach {
			t.Fatalf("cut at %d: ran %d times", at, all)
		}
	}
}

// TestDetach detaches a call that runs, over connections that break, and loses its client.
func TestDetach(t *testing.T) {
	for _, at := range []int{0, 50, 300, 350, 400, -1} {
		s := newFake(t)
		c := s.client(t)
		ctx, stop := context.WithCancel(t.Context())
		p, err := c.Calls().Start(ctx, call("sleep"), client.CallHandler{})
		if err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, "it has begun", func() bool { _, all := s.runs(); return all == 1 })
		s.mu.Lock()
		s.cut = []int{at, at}
		s.mu.Unlock()
		if err := p.Detach(t.Context()); err != nil {
			t.Fatalf("cut at %d: %v", at, err)
		}
		stop()
		if _, err := p.Wait(t.Context()); !errors.Is(err, context.Canceled) {
			t.Errorf("cut at %d: the following ended with %v", at, err)
		}
		if s.calls[p.ID()].stopped() {
			t.Errorf("cut at %d: the end of the context has cancelled the call", at)
		}
		if most, all := s.runs(); most != 1 || all != 1 {
			t.Errorf("cut at %d: ran %d times", at, all)
		}
	}
	s := newFake(t)
	unknown := s.client(t).Calls().Attach(t.Context(), "tools", "nobody-knows-1", 1, client.CallHandler{})
	if err := unknown.Detach(t.Context()); !errors.Is(err, &protocol.CallError{Code: protocol.CallUnknown}) {
		t.Errorf("an unknown call: %v", err)
	}
}

// TestWorkerGone has a call outlive its worker: the runtime tells what became of it.
func TestWorkerGone(t *testing.T) {
	s := newFake(t)
	s.mu.Lock()
	s.cut = []int{900}
	s.mu.Unlock()
	var items int
	on := client.CallHandler{Item: func(client.Body) error {
		items++
		s.mu.Lock()
		s.gone = true
		s.mu.Unlock()
		return nil
	}}
	if _, err := s.client(t).Calls().Do(t.Context(), call("count", 100), on); err != nil || items != 100 {
		t.Fatalf("%d items: %v", items, err)
	}
	s.mu.Lock()
	s.cut, s.gone = []int{900}, false
	s.mu.Unlock()
	items = 0
	on.Item = func(client.Body) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.gone = true
		clear(s.calls)
		return nil
	}
	if _, err := s.client(t).Calls().Do(t.Context(), call("count", 100), on); !errors.Is(err, &protocol.CallError{Code: protocol.CallInterrupted}) {
		t.Fatalf("a call that nobody knows any more: %v", err)
	}
}

func TestNobodyListens(t *testing.T) {
	c, err := client.New("unix:"+t.TempDir()+"/nothing", "token")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Calls().Call(t.Context(), "tools", "echo", []any{1}, nil); protocol.CodeOf(err) != protocol.Unavailable || !client.Ended(err) {
		t.Fatalf("%v", err)
	}
}

func BenchmarkCall(b *testing.B) {
	s := newFake(b)
	c, _ := client.New(s.endpoint, "token")
	defer c.Close()
	text := strings.Repeat("x", 1024)
	for b.Loop() {
		if _, err := c.Calls().Call(context.Background(), "tools", "echo", []any{text}, nil); err != nil {
			b.Fatal(err)
		}
	}
}
