package runtime

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/proc"
	"github.com/seer-engine/seer/engine/runtime/internal/spawn"
	"github.com/seer-engine/seer/sdk"
)

// wait ends what the worker leaves behind: nothing of a service outlives it.
func (w *worker) wait() {
	if w.cmd != nil {
		_ = w.cmd.Wait() // the state says it all
	} else {
		proc.Wait(w.pid, w.cookie())
	}
	_ = proc.KillTree(0, w.cookie())
	close(w.exited)
	w.hangUp()
	os.RemoveAll(w.dir)
}

// hangUp closes every connection to the worker.
func (w *worker) hangUp() {
	w.control.Lock()
	if w.conn != nil {
		w.conn.Close()
	}
	w.control.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.idle {
		c.Close()
	}
	w.idle = nil
}

// await waits until the code has been loaded.
func (w *worker) await(ctx context.Context, timeout time.Duration) (*sdk.Interface, *protocol.CallError) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case msg := <-w.loaded:
		return w.outcome(msg)
	case <-w.exited:
		select { // it may have said why
		case msg := <-w.loaded:
			return w.outcome(msg)
		default:
		}
		return nil, loadFailed("the worker %s while it loaded the file; see the service's logs", w.ending())
	case <-timer.C:
		return nil, loadFailed("the file was still loading after %v, and was stopped; is there an endless loop at the top level, or does it need a higher load timeout?", timeout)
	case <-ctx.Done():
		return nil, loadFailed("the loading was given up: the service was replaced or deleted")
	}
}

func (w *worker) outcome(msg controlLine) (*sdk.Interface, *protocol.CallError) {
	switch {
	case msg.Kind == "ready" && msg.Interface != nil:
		return msg.Interface, nil
	case msg.Error != nil:
		return nil, msg.Error
	}
	return nil, loadFailed("the worker sent an answer that makes no sense")
}

func loadFailed(format string, args ...any) *protocol.CallError {
	return &protocol.CallError{Code: protocol.CallLoadFailed, Message: fmt.Sprintf(format, args...)}
}

// ending says how the process ended, for a sentence.
func (w *worker) ending() string {
	if w.cmd == nil {
		return "ended; how is not known, because the runtime has been started again since"
	}
	status := w.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return "was killed by signal " + spawn.SignalName(status.Signal())
	}
	return fmt.Sprintf("ended with exit code %d", status.ExitStatus())
}

func (w *worker) gone() bool {
	select {
	case <-w.exited:
		return true
	default:
		return false
	}
}

// retire lets the calls that have arrived end, for as long as they take within
// reason. Those that pass through the runtime are waited for before the worker hears
// of it, because one that it has not read yet would be lost.
func (w *worker) retire() {
	const patience = 10 * time.Minute
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	began, stopped := time.Now(), false
	for since := began; time.Since(since) < 5*time.Second && time.Since(began) < patience; {
		if !stopped && !w.calling() {
			stopped = true
			_ = w.send(controlLine{Kind: "stop"}, nil)
		}
		select {
		case <-w.exited:
			return
		case <-tick.C:
			if !stopped || w.busy() {
				since = time.Now()
			}
		}
	}
	w.kill()
}

// enter counts a call on its way to the worker; leave ends it.
func (w *worker) enter() {
	w.mu.Lock()
	w.calls++
	w.mu.Unlock()
}

func (w *worker) leave() {
	w.mu.Lock()
	w.calls--
	w.mu.Unlock()
}

func (w *worker) calling() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls > 0
}

// kill ends the worker with everything it started, and waits for that.
func (w *worker) kill() {
	if w.pid == 0 {
		w.hangUp()
		return
	}
	if !w.gone() {
		_ = proc.KillTree(w.pid, w.cookie())
	}
	<-w.exited
}

// busy reports whether a call is queued or running. One that has not told yet may be.
func (w *worker) busy() bool {
	if w.gone() {
		return false
	}
	p := w.page.Load()
	return p == nil || p.busy()
}

func (w *worker) lastUse() time.Time {
	if p := w.page.Load(); p != nil {
		return p.lastUse()
	}
	return time.Time{}
}
