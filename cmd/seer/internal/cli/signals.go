package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/seer-engine/seer/cmd/seer/internal/term"
)

// Stopper turns signals into a clean stop: the first one cancels the work's
// context, the second one ends the program at once. What then still runs ends with
// its lease.
type Stopper struct {
	ui *term.Terminal

	mu       sync.Mutex
	cleaning string      // what a stop has to do, for the message
	first    func() bool // takes the first Ctrl-C instead of the context; see [Stopper.Intercept]
	got      os.Signal
	at       time.Time // when it came
}

func newStopper(ui *term.Terminal) *Stopper { return &Stopper{ui: ui} }

// watch returns a context that ends with the first signal. release ends the
// watching.
func (s *Stopper) watch(ctx context.Context) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 4)
	// With SIGPIPE among them, a write to a closed pipe is an error like others, so
	// that a run whose reader goes away still cleans up.
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case sig := <-signals:
				if sig != syscall.SIGPIPE {
					s.handle(sig, cancel)
				}
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}

// sameSignal is within which two signals are one: timeout(1) and shells send it to the
// program and to its group.
const sameSignal = 100 * time.Millisecond

func (s *Stopper) handle(sig os.Signal, cancel func()) {
	s.mu.Lock()
	before, cleaning, first := s.got, s.cleaning, s.first
	s.first = nil
	together := before != nil && time.Since(s.at) < sameSignal
	if before == nil {
		s.got, s.at = sig, time.Now()
	}
	s.mu.Unlock()
	switch {
	case together:
	case before != nil:
		s.ui.Finish()
		fmt.Fprintln(s.ui.Stderr(), "seer: stopped at once; machines that still run end with their lease, or with: seer gc")
		os.Exit(exitSignal + int(sig.(syscall.Signal)))
	case first != nil && sig == syscall.SIGINT && first():
		s.mu.Lock()
		s.got = nil // it was the command's, not ours
		s.mu.Unlock()
	default:
		if cleaning != "" {
			s.ui.Note("stopping", cleaning+". Once more stops at once.")
		}
		cancel()
	}
}

// Signal is what stopped the program, or nil.
func (s *Stopper) Signal() os.Signal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

// SetCleanup says what a stop would have to do now; empty = nothing.
func (s *Stopper) SetCleanup(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleaning = what
}

// Intercept gives the first Ctrl-C to f, which reports whether it took it.
func (s *Stopper) Intercept(f func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = f
}
