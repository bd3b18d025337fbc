package service

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/proc"
	"github.com/seer-engine/seer/engine/runtime/internal/spawn"
	"github.com/seer-engine/seer/internal/closed"
	"github.com/seer-engine/seer/sdk"
)

// wait ends what the worker leaves behind: nothing of a service outlives it.
func (w *Worker) wait() {
	if w.cmd != nil {
		_ = w.cmd.Wait() // the state says it all
	} else {
		proc.Wait(w.PID, w.cookie())
	}
	_ = proc.KillTree(0, w.cookie())
	w.hearOut()
	close(w.Exited)
	w.hangUp()
	os.RemoveAll(w.dir)
}

// hearOut waits until the last words of a worker that has ended are read: why its file was not
// loaded, for example. A process that left the worker's tree may still have the connection open.
func (w *Worker) hearOut() {
	w.control.Lock()
	heard := w.heard
	w.control.Unlock()
	if heard == nil {
		return
	}
	select {
	case <-heard:
	case <-time.After(time.Second):
	}
}

// hangUp closes every connection to the worker.
func (w *Worker) hangUp() {
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
func (w *Worker) await(ctx context.Context, timeout time.Duration) (*sdk.Interface, *protocol.CallError) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case msg := <-w.loaded:
		return w.outcome(msg)
	case <-w.Exited:
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

func (w *Worker) outcome(msg controlLine) (*sdk.Interface, *protocol.CallError) {
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
func (w *Worker) ending() string {
	if w.cmd == nil {
		return "ended; how is not known, because the runtime has been started again since"
	}
	status := w.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return "was killed by signal " + spawn.SignalName(status.Signal())
	}
	return fmt.Sprintf("ended with exit code %d", status.ExitStatus())
}

// Gone reports whether the process has ended.
func (w *Worker) Gone() bool { return closed.Is(w.Exited) }

// retire lets the calls that have arrived end, for as long as they take within
// reason. Those that pass through the runtime are waited for before the worker hears
// of it, because one that it has not read yet would be lost.
func (w *Worker) retire() {
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
		case <-w.Exited:
			return
		case <-tick.C:
			if !stopped || w.busy() {
				since = time.Now()
			}
		}
	}
	w.kill()
}

// Enter counts a call on its way to the worker, until [Worker.Leave].
func (w *Worker) Enter() {
	w.mu.Lock()
	w.calls++
	w.mu.Unlock()
}

// Leave ends what [Worker.Enter] or [Service.AwaitWorker] began.
func (w *Worker) Leave() {
	w.mu.Lock()
	w.calls--
	w.mu.Unlock()
}

func (w *Worker) calling() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls > 0
}

// kill ends the worker with everything it started, and waits for that.
func (w *Worker) kill() {
	if w.PID == 0 {
		w.hangUp()
		return
	}
	if !w.Gone() {
		_ = proc.KillTree(w.PID, w.cookie())
	}
	<-w.Exited
}

// busy reports whether a call is queued or running. One that has not told yet may be.
func (w *Worker) busy() bool {
	if w.Gone() {
		return false
	}
	p := w.page.Load()
	return p == nil || p.busy()
}

func (w *Worker) lastUse() time.Time {
	if p := w.page.Load(); p != nil {
		return p.lastUse()
	}
	return time.Time{}
}
