package fakemodal

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/container"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
)

// ending is why the cloud ends a sandbox.
type ending int

const (
	endNot        ending = iota
	endTerminated        // somebody asked for it
	endTimeout           // its time is up
	endIdle              // nothing used it
	endLost              // its machine broke
)

// sandbox is a machine, or one that waits to be. What follows mu is guarded by the
// cloud's.
type sandbox struct {
	cloud   *Cloud
	id      string
	task    string
	v2      bool
	app     *app
	image   *image
	def     *pb.Sandbox
	vars    map[string]string
	created float64

	out, errs *output
	stdin     *input
	folder    string

	stopping chan struct{} // closed: it is to end
	tasked   chan struct{} // closed: it has a task, or never will
	up       chan struct{} // closed: its tunnels are up, or never will
	done     chan struct{} // closed: it has ended

	name       string
	tags       []*pb.SandboxTag
	why        ending
	container  *container.Container
	started    float64
	ended      float64
	ready      float64
	tunnels    []*tunnel
	connect    *connectServer // for connect tokens
	shut       bool           // no more of them are opened
	execs      map[string]*process
	uses       int // commands and connections
	lastUse    time.Time
	result     *pb.GenericResult
	exitImage  string
	copying    sync.Mutex        // guards snapshots
	snapshots  map[string]string // key → image
	stdinIndex uint32
}

func (c *Cloud) newSandbox(a *app, im *image, def *pb.Sandbox, vars map[string]string, v2 bool) (*sandbox, error) {
	stdin, err := newInput()
	if err != nil {
		return nil, err
	}
	sb := &sandbox{cloud: c, id: newSandboxID(v2), task: newID("ta"), v2: v2, app: a, image: im, def: def, vars: vars, created: c.now(),
		out: newOutput(), errs: newOutput(), stdin: stdin,
		stopping: make(chan struct{}), tasked: make(chan struct{}), up: make(chan struct{}), done: make(chan struct{}),
		name: def.GetName(), execs: map[string]*process{}, snapshots: map[string]string{}, lastUse: time.Now()}
	stdin.changed = func() { sb.active(0) }
	return sb, nil
}

func (sb *sandbox) gpu() string { return sb.def.GetResources().GetGpuConfig().GetGpuType() }

// end begins the end. The caller holds mu.
func (sb *sandbox) end(why ending) {
	if sb.why == endNot && sb.result == nil {
		sb.why = why
		close(sb.stopping)
	}
}

// live is the whole life of a sandbox.
func (sb *sandbox) live() {
	defer sb.cloud.work.Done()
	err := sb.schedule()
	if err == nil {
		err = sb.boot()
	}
	if err != nil {
		sb.removeFolder()
		sb.finish(sb.resultOf(err))
		return
	}
	sb.watch()
}

func (sb *sandbox) removeFolder() {
	if sb.folder == "" {
		return
	}
	if err := os.RemoveAll(sb.folder); err != nil {
		sb.cloud.logf("%s: %v", sb.id, err)
	}
}

var (
	errEnded = errors.New("ended before it had a machine")
	errLost  = errors.New("Sandbox failed to start: the worker was lost") //nolint:staticcheck // as the cloud says it
)

// schedule waits for a machine.
func (sb *sandbox) schedule() error {
	var delay time.Duration
	for {
		f, changed := sb.cloud.faults.wait()
		delay = f.StartDelay
		if f.DiesStarting {
			return errLost
		}
		if !f.noCapacity(sb.gpu()) {
			break
		}
		select {
		case <-changed:
		case <-sb.stopping:
			return errEnded
		case <-sb.cloud.ctx.Done():
			return errEnded
		}
	}
	if !sb.v2 { // the other has its machine when its creation is answered
		delay += sb.cloud.opts.StartTime
	}
	select {
	case <-time.After(delay):
		return nil
	case <-sb.stopping:
		return errEnded
	case <-sb.cloud.ctx.Done():
		return errEnded
	}
}

// address is where a port of the sandbox is on this computer.
func (sb *sandbox) address(port int) string {
	sb.cloud.mu.Lock()
	defer sb.cloud.mu.Unlock()
	return sb.container.Address(port)
}

// active counts a use of the sandbox; 0 is one that has ended already.
func (sb *sandbox) active(delta int) {
	sb.cloud.mu.Lock()
	defer sb.cloud.mu.Unlock()
	sb.uses += delta
	sb.lastUse = time.Now()
}

// watch waits for the end of the machine and sees to it.
func (sb *sandbox) watch() {
	life := time.NewTimer(time.Duration(sb.def.GetTimeoutSecs()) * time.Second)
	defer life.Stop()
	lost := make(<-chan time.Time)
	if after := sb.cloud.faults.get().DiesAfter; after > 0 {
		lost = time.After(after)
	}
	idle := time.NewTimer(sb.idleLeft())
	defer idle.Stop()
	for {
		select {
		case <-sb.container.Done():
			sb.close(func() {})
			return
		case <-sb.stopping:
			sb.close(sb.stop)
			return
		case <-sb.cloud.ctx.Done():
			sb.close(sb.container.Kill)
			return
		case <-life.C:
			sb.endNow(endTimeout)
		case <-lost:
			sb.endNow(endLost)
		case <-idle.C:
			left := sb.idleLeft()
			if left <= 0 {
				sb.endNow(endIdle)
			}
			idle.Reset(max(left, time.Millisecond))
		}
	}
}

func (sb *sandbox) endNow(why ending) {
	sb.cloud.mu.Lock()
	defer sb.cloud.mu.Unlock()
	sb.end(why)
}

// idleLeft is how long the sandbox may still be without use.
func (sb *sandbox) idleLeft() time.Duration {
	if !sb.def.HasIdleTimeoutSecs() {
		return 1 << 62
	}
	limit := time.Duration(sb.def.GetIdleTimeoutSecs()) * time.Second
	sb.cloud.mu.Lock()
	defer sb.cloud.mu.Unlock()
	if sb.uses > 0 {
		return limit
	}
	return limit - time.Since(sb.lastUse)
}

func (sb *sandbox) stop() {
	sb.cloud.mu.Lock()
	why := sb.why
	sb.cloud.mu.Unlock()
	if why == endLost {
		sb.container.Kill()
		return
	}
	sb.container.Stop(sb.cloud.opts.Grace)
}

// close ends the machine, keeps what is to be kept, and tells everybody.
func (sb *sandbox) close(stop func()) {
	stop()
	result := sb.resultOf(nil)
	sb.container.Kill() // what the first program has left behind
	sb.cloud.mu.Lock()
	sb.shut = true
	tunnels, connect := sb.tunnels, sb.connect
	sb.cloud.mu.Unlock()
	sb.saveExit()
	closeAll(tunnels)
	connect.close()
	sb.removeFolder()
	sb.finish(result)
}

// resultOf says how the sandbox ended; err is why it never had a machine.
func (sb *sandbox) resultOf(err error) *pb.GenericResult {
	sb.cloud.mu.Lock()
	why := sb.why
	sb.cloud.mu.Unlock()
	b := pb.GenericResult_builder{}
	switch {
	case why == endTerminated || errors.Is(err, errEnded):
		b.Status, b.Exception = pb.GenericResult_GENERIC_STATUS_TERMINATED, "Sandbox was terminated"
	case why == endTimeout:
		b.Status, b.Exception = pb.GenericResult_GENERIC_STATUS_TIMEOUT, "Sandbox timed out"
	case why == endIdle:
		b.Status, b.Exception = pb.GenericResult_GENERIC_STATUS_IDLE_TIMEOUT, "Sandbox was idle for too long"
	case why == endLost:
		b.Status, b.Exception, b.Exitcode = pb.GenericResult_GENERIC_STATUS_INTERNAL_FAILURE, "Sandbox was lost: its worker does not answer", 137
	case err != nil:
		b.Status, b.Exception = pb.GenericResult_GENERIC_STATUS_INIT_FAILURE, err.Error()
	default:
		b.Status = pb.GenericResult_GENERIC_STATUS_SUCCESS
		if b.Exitcode = int32(sb.container.ExitCode()); b.Exitcode != 0 {
			b.Status = pb.GenericResult_GENERIC_STATUS_FAILURE
		}
	}
	return b.Build()
}

// finish makes the result known: the sandbox has ended and costs nothing more.
func (sb *sandbox) finish(result *pb.GenericResult) {
	sb.stdin.end()
	_ = sb.out.Close()
	_ = sb.errs.Close()
	sb.cloud.record(Event{Kind: "end", Machine: sb.id, Text: result.GetStatus().String()})
	sb.cloud.mu.Lock()
	sb.result, sb.ended = result, sb.cloud.now()
	hadTask := sb.started != 0
	execs := slices.Collect(maps.Values(sb.execs))
	sb.cloud.mu.Unlock()
	for _, p := range execs {
		p.in.end()
	}
	close(sb.done)
	if !hadTask {
		close(sb.tasked)
		close(sb.up)
	}
	sb.cloud.logf("%s ended: %s", sb.id, result.GetStatus())
}

// wait waits for a channel, so long at most. It reports whether that came first.
func wait(ctx context.Context, ch <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ch:
		return true
	default:
	}
	select {
	case <-ch:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}
