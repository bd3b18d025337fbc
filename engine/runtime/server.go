// Package runtime is the program that runs inside every sandbox, whatever rents
// the machine: processes, files, services, and the lease that ends it all.
// docs/protocol.md is the specification.
package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/resumable"
	"github.com/seer-engine/seer/engine/runtime/internal/auth"
	"github.com/seer-engine/seer/engine/runtime/internal/callproxy"
	"github.com/seer-engine/seer/engine/runtime/internal/checkpoint"
	"github.com/seer-engine/seer/engine/runtime/internal/download"
	"github.com/seer-engine/seer/engine/runtime/internal/environment"
	"github.com/seer-engine/seer/engine/runtime/internal/gpumemory"
	"github.com/seer-engine/seer/engine/runtime/internal/lease"
	"github.com/seer-engine/seer/engine/runtime/internal/portforward"
	"github.com/seer-engine/seer/engine/runtime/internal/proc"
	"github.com/seer-engine/seer/engine/runtime/internal/process"
	"github.com/seer-engine/seer/engine/runtime/internal/service"
	"github.com/seer-engine/seer/engine/runtime/internal/spawn"
)

const maxHeader = 1 << 20 // bytes

// Options are what a runtime is told when it starts.
type Options struct {
	Version              string
	AdminSHA256          string              // hex; see protocol.HashToken
	Machine              string              // value of SEER_MACHINE
	Python               string              // the interpreter, where the configuration names none
	Roots                map[string]string   // well-known folder → real one
	Scratch              string              // an existing private folder; a folder of its own is made below it
	HardEnd              time.Time           // zero = none
	FirstLease           time.Duration       // until a client takes a lease; 0 = 2 minutes
	Listen               string              // unix:/path, where it can be parked
	Loader               *os.File            // a socket on which the loader hears; nil = there is none
	Sockets              string              // an existing folder for sockets of workers; empty = Scratch
	Memory               *os.File            // survives the runtime; nil = nothing is remembered
	Life                 *os.File            // a pipe that ends with the machine, and workers with it; nil = they end with this program
	Worker               fs.FS               // the worker's Python files
	WorkerEntry          string              // the one to start
	WorkerCompiled       string              // a ZIP file with bytecode of the worker; it may be missing
	WorkerCompiledSHA256 string              // hex; a file with another one is not used
	Linger               time.Duration       // how long a foreground process outlives its follower; 0 = 30 s
	Exclusive            bool                // everything below this process belongs to the machine and ends with it
	Forward              *portforward.Config // the ways in and out of a network of its own; nil = none
	Logger               *slog.Logger        // nil = nothing is logged
}

// Server is the runtime. It is an http.Handler; [Server.Serve] also keeps the
// lease.
type Server struct {
	options    Options
	scratch    string
	inherited  bool // scratch is the folder of an earlier runtime
	env        *environment.Env
	program    *service.Program
	handler    http.Handler
	spawner    *spawn.Spawner
	life       *os.File // the end of a pipe that workers watch
	alive      *os.File // its other one, where it is ours
	calls      *callproxy.Handler
	memory     *memory
	lease      *lease.Lease
	reporter   *lease.Reporter
	processes  *process.Table
	downloads  *download.Handler
	services   *service.Manager
	sessions   *auth.Sessions
	guard      *auth.Guard
	watches    watches
	gpus       *gpumemory.Memory
	checkpoint *checkpoint.Handler
	listener   clientListener
	forwarder  *portforward.Forwarder // the ends of ports and of the proxy that are inside
	links      *resumable.Server
	started    int64 // of the first runtime of the machine
	configured atomic.Pointer[protocol.Config]
	saving     sync.Mutex
	linking    sync.Mutex    // links to models are made
	over       chan struct{} // closed when the machine is to end
	endOnce    sync.Once
}

// New makes a runtime. What one before it remembered in o.Memory is taken up:
// configuration, lease and services, which are loaded again.
func New(o Options) (*Server, error) {
	if len(o.AdminSHA256) != 64 {
		return nil, errors.New("the runtime needs the SHA-256 of the admin token")
	}
	o.FirstLease = orDefault(o.FirstLease, 2*time.Minute)
	o.Linger = orDefault(o.Linger, 30*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	now := time.Now()
	s := &Server{options: o, spawner: spawn.New(), life: o.Life, memory: &memory{f: o.Memory}, sessions: &auth.Sessions{},
		started: now.Unix(), over: make(chan struct{}),
		lease: lease.New(now, o.FirstLease, o.HardEnd), forwarder: portforward.New(o.Forward, o.Logger)}
	s.env = &environment.Env{Machine: o.Machine, DefaultPython: o.Python, Roots: o.Roots, Forward: o.Forward, Exclusive: o.Exclusive, Config: s.config}
	s.reporter = lease.NewReporter(s.lease, o.Loader, o.Logger)
	s.configured.Store(&protocol.Config{})
	s.links = resumable.NewServer(resumable.ServerOptions{})
	if err := s.prepare(); err != nil {
		s.close()
		if !s.inherited { // the next runtime goes on in it
			os.RemoveAll(s.scratch)
		}
		return nil, err
	}
	s.handler = s.routes()
	s.persist()
	return s, nil
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

func (s *Server) prepare() error {
	saved, again, err := s.memory.load()
	if err != nil {
		return err
	}
	if err := s.openScratch(saved.Scratch); err != nil {
		return fmt.Errorf("make the runtime's folder: %w", err)
	}
	if s.life == nil {
		if s.life, s.alive, err = os.Pipe(); err != nil {
			return err
		}
	}
	s.assemble()
	if err := s.forwarder.Open(); err != nil {
		return err
	}
	if !again {
		return nil
	}
	return s.resume(saved)
}

// assemble makes the parts that need the runtime's folder, each from what it needs.
func (s *Server) assemble() {
	o := s.options
	s.program = &service.Program{Files: o.Worker, Entry: o.WorkerEntry, Compiled: o.WorkerCompiled,
		CompiledSHA256: o.WorkerCompiledSHA256, Dir: s.scratch, Log: o.Logger}
	s.services = service.NewManager(service.Deps{Env: s.env, Dir: s.scratch, Sockets: o.Sockets, Life: s.life, Spawner: s.spawner,
		Program: s.program, Persist: s.persist, Log: o.Logger})
	s.calls = callproxy.New(s.services, s.scratch)
	s.guard = auth.NewGuard(o.AdminSHA256, s.sessions, s.services.OfToken)
	s.gpus = gpumemory.New(gpumemory.Deps{Python: o.Python, Environ: func() []string { return s.env.Variables(protocol.Config{}, "gpumemory") }, Spawner: s.spawner, Persist: s.persist,
		Processes: func() ([]int, error) { return proc.Tree(s.env.TopPID(), s.env.Cookie()) }})
	s.checkpoint = checkpoint.New(checkpoint.Deps{Env: s.env, Lease: s.lease, Reporter: s.reporter, Forwarder: s.forwarder, Listener: &s.listener, GPUs: s.gpus,
		Loader: o.Loader, Listen: o.Listen, Over: s.over, Log: o.Logger,
		LimitBody: s.guard.LimitBody, Persist: s.persist, Renew: s.renew, End: s.End})
	s.processes = process.NewTable(process.Deps{Env: s.env, Dir: s.scratch, Spawner: s.spawner, Write: s.checkpoint.Write})
	s.downloads = download.New(filepath.Join(s.scratch, "downloads"), s.env.Path, s.lease.Begin)
}

// openScratch goes on in the folder of an earlier runtime: logs, journals and the sockets
// of workers are there.
func (s *Server) openScratch(before string) error {
	if info, err := os.Stat(before); err == nil && info.IsDir() {
		s.scratch, s.inherited = before, true
		return nil
	}
	var err error
	s.scratch, err = os.MkdirTemp(s.options.Scratch, "seer-runtime-")
	return err
}

// resume takes up the life of a runtime that was killed.
func (s *Server) resume(saved savedState) error {
	s.options.Logger.Warn("the runtime was started again", "services", len(saved.Services))
	s.configured.Store(&saved.Config)
	s.lease.Restore(lease.State{Kind: saved.LeaseKind, End: saved.LeaseEnd, Idle: saved.LeaseIdle, LastUse: saved.LastUse})
	s.lease.Touch(time.Now()) // the last use may be later than what was saved
	s.started = saved.StartedUnix
	s.sessions.Restore(saved.Sessions)
	if saved.Frozen {
		s.checkpoint.ContinueAll()
	}
	if len(saved.OffGPU) > 0 {
		s.gpus.Remember(saved.OffGPU)
		go s.checkpoint.PutBack()
	}
	return s.services.Restore(saved.Services)
}

// persist remembers the present state. A failure is logged, not returned: the
// request that caused it has been carried out.
func (s *Server) persist() {
	s.saving.Lock()
	defer s.saving.Unlock()
	lease := s.lease.State()
	state := savedState{Config: *s.configured.Load(), LeaseKind: lease.Kind, LeaseEnd: lease.End,
		LeaseIdle: lease.Idle, LastUse: lease.LastUse, StartedUnix: s.started, Scratch: s.scratch,
		Sessions: s.sessions.All(), Frozen: s.checkpoint.Frozen(), OffGPU: s.gpus.Off()}
	state.Services = s.services.Saved()
	if err := s.memory.save(state); err != nil {
		s.options.Logger.Error("the state could not be remembered", "error", err)
	}
}

func (s *Server) config() protocol.Config { return *s.configured.Load() }

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// End makes [Server.Serve] end everything and return. It is safe to call more
// than once.
func (s *Server) End(why string) {
	s.endOnce.Do(func() {
		s.options.Logger.Info("the machine ends", "why", why)
		close(s.over)
	})
}

// Serve answers requests on l until the lease ends, [Server.End] is called or
// ctx is cancelled. Then it ends every process of the machine and returns. The
// error is nil unless l failed.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{Handler: s, BaseContext: checkpoint.WithListener, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 10 * time.Minute, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.options.Logger.Handler(), slog.LevelDebug)}
	failed := make(chan error, 1)
	s.listener.srv, s.listener.failed = srv, failed
	s.listener.Serve(l)
	go func() { _ = srv.Serve(s.links) }() // ends with the links
	err := s.keep(ctx, failed)
	s.endProcesses()
	// Answers that wait for what has just been ended may still leave.
	stop, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if srv.Shutdown(stop) != nil {
		srv.Close()
	}
	s.links.Shutdown(stop)
	s.close()
	os.RemoveAll(s.scratch)
	return err
}

// keep watches the lease and tidies up until the machine is to end.
func (s *Server) keep(ctx context.Context, failed <-chan error) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	parent := os.Getppid()
	last := time.Now()
	for {
		select {
		case <-s.over:
			return nil
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-tick.C:
			s.processes.Tidy(s.options.Linger)
			now := time.Now()
			s.calls.Tidy(now)
			if !s.checkpoint.Quiesced() { // asked first: its end has extended the lease by then
				s.lease.ExcuseStandstill(now, last)
				if why := s.lease.Ended(now, s.busy()); why != "" {
					s.End(why)
				}
				s.reporter.Report(now)
			}
			last = now
			if s.options.Exclusive && os.Getppid() != parent {
				s.End("the loader is gone")
			}
		}
	}
}

// busy reports whether anything is use of the machine, and notes it. A process that says
// it by a file was last use when it wrote that, not when it was last believed.
func (s *Server) busy() bool {
	now := time.Now()
	busy, _ := s.lease.Used(now)
	serving, last := s.services.Use()
	s.lease.Touch(last)
	if serving {
		s.lease.Touch(now)
	}
	running, last := s.processes.Use()
	s.lease.Touch(last)
	return busy || serving || running
}

// endProcesses ends everything that was started on the machine, also what has
// left its tree.
func (s *Server) endProcesses() {
	var wg sync.WaitGroup
	wg.Go(s.services.RemoveAll)
	wg.Go(s.processes.KillAll)
	wg.Go(s.downloads.Close)
	wg.Wait()
	if !s.options.Exclusive {
		return
	}
	if err := proc.KillTree(os.Getpid(), s.env.Cookie()); err != nil {
		s.options.Logger.Error("the processes of the machine could not be ended", "error", err)
	}
}

func (s *Server) close() {
	s.spawner.Close()
	if s.calls != nil {
		s.calls.Close()
		s.program.Close()
	}
	s.forwarder.Close()
	if s.alive != nil {
		s.alive.Close()
	}
}
