package fakemodal

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Faults are what goes wrong. The zero value is nothing.
type Faults struct {
	Latency      time.Duration // before each call
	Down         bool          // the control plane: connections are closed, also those that are open
	RouterDown   bool          // the same of the command router
	TokenRevoked bool          // every call is Unauthenticated
	Calls        []CallFault   // of single calls; the first that matches has its way
	Warning      string        // sent with each answer, for clients to show

	NoCapacity []string // GPU types (or "cpu", or "*") whose sandboxes find no machine; taken back: they start
	Exhausted  string   // creating a sandbox fails with this text: quota, credit
	Build      string   // every build that is not cached fails with this text

	StartDelay   time.Duration // from a creation to the task, besides Options.StartTime; of either back end
	DropsLeft    bool          // the second back end drops a creation whose caller leaves before it has its task
	DiesStarting bool          // a machine is lost before it has a task
	DiesAfter    time.Duration // a machine is lost so long after its start; 0 = not

	TunnelDelay time.Duration // from a task to its tunnels, besides Options.TunnelTime
	TunnelNever bool          // they do not come up
	TunnelFails string        // with TunnelNever: why, as a result that ends the wait
	ListDelay   time.Duration // until a new sandbox is in a list
	ListsByApp  bool          // a list of sandboxes that names no app is refused
	TunnelBytes int64         // a connection is cut after so many bytes to the client; 0 = not
	TunnelTime  time.Duration // a connection is cut so long after it was opened; 0 = not
}

// CallFault is what happens to the calls of a method.
type CallFault struct {
	Method string     // pattern of path.Match for the method's name: SandboxCreate*
	Code   codes.Code // the answer; OK with Cut, Hang and AfterEffect
	Text   string     // its message
	Skip   int        // so many calls go well before
	Times  int        // so many fail; 0 = all

	RetryAfter  time.Duration // goes with the answer, as servers do that are overloaded
	Cut         bool          // the connection dies instead of an answer
	AfterEffect bool          // the call has its effect; then the connection dies, or the answer is Code
	Hang        bool          // no answer until the caller gives up
}

// status is the answer of a call that fails.
func (f CallFault) status() error {
	text := f.Text
	if text == "" {
		text = "fault of the fake"
	}
	s := status.New(f.Code, text)
	if f.RetryAfter > 0 {
		policy := pb.RPCRetryPolicy_builder{RetryAfterSecs: float32(f.RetryAfter.Seconds())}.Build()
		if with, err := s.WithDetails(policy); err == nil {
			s = with
		}
	}
	return s.Err()
}

// SetFaults replaces what goes wrong, from the next call on. Down and RouterDown
// have their effect at once; sandboxes that waited for capacity start when there is
// some.
func (c *Cloud) SetFaults(f Faults) error {
	for _, call := range f.Calls {
		if _, err := path.Match(call.Method, ""); err != nil {
			return fmt.Errorf("fault of calls to %q: %w", call.Method, err)
		}
	}
	c.faults.set(f)
	c.control.setDown(f.Down)
	c.router.setDown(f.RouterDown)
	return nil
}

// faultState is the present faults.
type faultState struct {
	mu      sync.Mutex
	now     Faults
	changed chan struct{} // closed by the next change
}

func (s *faultState) settle() { s.changed = make(chan struct{}) }

func (s *faultState) set(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Calls = slices.Clone(f.Calls)
	s.now = f
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *faultState) get() Faults {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// wait returns the present faults and what is closed when they change.
func (s *faultState) wait() (Faults, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now, s.changed
}

// take is the fault of this call, if it has one.
func (s *faultState) take(method string) (CallFault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.now.Calls {
		f := &s.now.Calls[i]
		if ok, _ := path.Match(f.Method, method); !ok {
			continue
		}
		switch {
		case f.Skip > 0:
			f.Skip--
		case f.Times == 1:
			f.Times = -1
			return *f, true
		case f.Times >= 0:
			if f.Times > 1 {
				f.Times--
			}
			return *f, true
		}
	}
	return CallFault{}, false
}

// noCapacity reports whether there is no machine with such a GPU ("" = none).
func (f Faults) noCapacity(gpu string) bool {
	if gpu == "" {
		gpu = "cpu"
	}
	return slices.ContainsFunc(f.NoCapacity, func(name string) bool { return name == "*" || strings.EqualFold(name, gpu) })
}

func percentEncode(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
