package forward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/seer-engine/seer/engine/pipe"
	"github.com/seer-engine/seer/engine/state"
)

// Main is the process of a [Forwarder]: it returns the exit status when no route is left.
// ready gets one line when the process has begun; its reader may be gone afterwards.
func Main(dir string, ready, log io.Writer) int {
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP) // who started it may be gone
	lock, held, err := state.TryAcquire(filepath.Join(dir, processLock))
	if err == nil && held {
		return 0
	}
	if err == nil {
		defer lock.Release()
		p := &process{dir: dir, log: log, retry: mostWait, open: map[string]*port{}}
		err = p.run(ready)
	}
	if err != nil {
		_, _ = fmt.Fprintln(log, "forward:", err)
		return 1
	}
	return 0
}

// process carries what is wanted.
type process struct {
	dir   string
	log   io.Writer
	retry time.Duration    // after which the routes are heeded again where that failed
	open  map[string]*port // by "SANDBOX PORT"
	told  ports            // what is in the file

	mu     sync.Mutex
	config string // of the ways
	ways   *ways
	failed map[string]*outage // by route
}

// port is one that is carried.
type port struct {
	l      net.Listener
	number int
	cancel context.CancelFunc
	wanted atomic.Pointer[Wanted]
}

func (p *process) run(ready io.Writer) error {
	watch, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer watch.Close()
	if err := watch.Add(p.dir); err != nil {
		return err
	}
	if err := p.anew(); err != nil {
		return err
	}
	defer p.closeAll()
	failed := false
	for first := true; ; first = false {
		wanted, next, err := p.heed()
		if wanted == 0 || first && err != nil {
			return err
		}
		if err != nil { // a full disk, for example, which is no reason to cut what is carried
			if !failed {
				p.say(err)
			}
			if again := time.Now().Add(p.retry); next.IsZero() || again.Before(next) {
				next = again
			}
		}
		failed = err != nil
		if first {
			_, _ = io.WriteString(ready, "\n")
		}
		if err := changed(watch, next); err != nil {
			return err
		}
	}
}

// changed waits until the routes have changed, or until end; zero = never.
func changed(watch *fsnotify.Watcher, end time.Time) error {
	var ended <-chan time.Time
	if !end.IsZero() {
		ended = time.After(time.Until(end))
	}
	for {
		select {
		case <-ended:
			return nil
		case event := <-watch.Events:
			if filepath.Base(event.Name) == routesFile {
				return nil
			}
		case err := <-watch.Errors:
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				return nil
			}
			return err
		}
	}
}

// anew says that what another process has written down is not there any more, but keeps the
// ports that it had.
func (p *process) anew() error {
	have, err := readPorts(p.dir)
	if err != nil {
		return err
	}
	have.Version, have.Errors = -1, nil
	return p.tell(have)
}

// tell writes down what is, where something else is written.
func (p *process) tell(have ports) error {
	if have.Version == p.told.Version && maps.Equal(have.Ports, p.told.Ports) && maps.Equal(have.Errors, p.told.Errors) {
		return nil
	}
	if err := writeJSON(filepath.Join(p.dir, portsFile), have); err != nil {
		return err
	}
	p.told = have
	return nil
}

// heed opens and closes ports as the routes say, and writes down which they are. It returns how many
// there are, also with an error, and when the first of them ends.
func (p *process) heed() (wanted int, next time.Time, err error) {
	r, err := readRoutes(p.dir)
	if err != nil {
		return len(p.open), next, err
	}
	next = r.prune(time.Now())
	p.configure(r)
	have := ports{Version: r.Version, Ports: map[string]int{}, Errors: map[string]string{}}
	keep := map[string]Wanted{}
	for sandbox, list := range r.Wanted {
		for _, w := range list {
			keep[portKey(sandbox, w.Port)] = w
		}
	}
	for key, open := range p.open {
		if _, ok := keep[key]; !ok {
			open.close()
			delete(p.open, key)
		}
	}
	for key, w := range keep {
		if open := p.open[key]; open != nil {
			open.wanted.Store(&w)
		} else if err := p.begin(key, w, p.told.Ports[key]); err != nil {
			have.Errors[key] = err.Error()
			continue
		}
		have.Ports[key] = p.open[key].number
	}
	return len(keep), next, p.tell(have)
}

// configure has the next connections use other options, where those of the last command are others.
// Two copies of Seer on one computer have folders of their own, and must not cut each other's
// connections.
func (p *process) configure(r routes) {
	useAgent(r.Agent)
	config := fmt.Sprintf("%+v %+v", r.SSH, r.Kube)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ways != nil && p.config == config {
		return
	}
	if before := p.ways; before != nil {
		go func() { before.busy.Wait(); before.close() }()
	}
	p.ways, p.config, p.failed = newWays(r), config, map[string]*outage{}
}

// useAgent has the next logins use an SSH agent, unless the one before lives: the last command may be
// one of a short session.
func useAgent(socket string) {
	before := os.Getenv(agentVariable)
	if socket == "" || socket == before {
		return
	}
	if conn, err := net.DialTimeout("unix", before, time.Second); err == nil {
		_ = conn.Close()
		return
	}
	_ = os.Setenv(agentVariable, socket)
}

// portPatience is how long a port that was carried before may be taken by what is just ending.
const portPatience = 2 * time.Second

// begin opens a port: the one before, or else another one.
func (p *process) begin(key string, w Wanted, before int) error {
	l, err := listen(before)
	for end := time.Now().Add(portPatience); before != 0 && errors.Is(err, syscall.EADDRINUSE) && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
		l, err = listen(before)
	}
	if err != nil && before != 0 {
		l, err = listen(0)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	open := &port{l: l, number: l.Addr().(*net.TCPAddr).Port, cancel: cancel}
	open.wanted.Store(&w)
	p.open[key] = open
	go p.serve(ctx, open)
	return nil
}

func listen(number int) (net.Listener, error) {
	return net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", number))
}

// close ends a port and its connections.
func (o *port) close() {
	_ = o.l.Close()
	o.cancel()
}

func (p *process) closeAll() {
	for _, open := range p.open {
		open.close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ways != nil {
		p.ways.close()
	}
}

func (p *process) serve(ctx context.Context, open *port) {
	for {
		conn, err := open.l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many files, for example
			time.Sleep(100 * time.Millisecond)
			continue
		}
		go p.carry(ctx, conn, *open.wanted.Load())
	}
}

func (p *process) carry(ctx context.Context, conn net.Conn, w Wanted) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // which closes both
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	ways, o := p.way(w)
	defer ways.busy.Done()
	far, err := p.dial(ctx, w, ways, o)
	if err != nil {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // so that the client learns it at once
		}
		return
	}
	context.AfterFunc(ctx, func() { _ = far.Close() })
	pipe.Relay(conn, far)
}

// outage is a route that could not be connected to. Until its end, nobody tries.
type outage struct {
	turn sync.Mutex
	wait time.Duration
	end  time.Time
	why  error
}

const (
	firstWait = 100 * time.Millisecond
	mostWait  = 5 * time.Second
)

// way is how to connect to a port now. The caller says when the connection has ended.
func (p *process) way(w Wanted) (*ways, *outage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.failed[w.Route.key()]
	if o == nil {
		o = &outage{}
		p.failed[w.Route.key()] = o
	}
	p.ways.busy.Add(1)
	return p.ways, o
}

func (p *process) dial(ctx context.Context, w Wanted, ways *ways, o *outage) (net.Conn, error) {
	o.turn.Lock()
	if time.Now().Before(o.end) {
		defer o.turn.Unlock()
		return nil, o.why
	}
	o.turn.Unlock()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	conn, err := ways.dial(ctx, w)
	o.turn.Lock()
	defer o.turn.Unlock()
	var refused *pipe.Refused
	switch {
	case err == nil:
		o.wait = 0
	case !errors.As(err, &refused) && ctx.Err() == nil && time.Now().After(o.end): // many may have tried at once
		o.wait = min(max(2*o.wait, firstWait), mostWait)
		o.end, o.why = time.Now().Add(o.wait), err
		p.say(err)
	}
	return conn, err
}

func (p *process) say(err error) {
	_, _ = fmt.Fprintf(p.log, "forward: %s %v\n", time.Now().UTC().Format(time.RFC3339), err)
}
