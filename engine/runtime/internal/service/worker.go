package service

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/environment"
	"github.com/seer-engine/seer/engine/runtime/internal/redact"
	"github.com/seer-engine/seer/engine/runtime/internal/spawn"
	"github.com/seer-engine/seer/engine/runtime/internal/spool"
	"github.com/seer-engine/seer/internal/osfile"
)

// Worker is the Python process of a service. It may have been started by a runtime
// before this one.
type Worker struct {
	id        string // value of SEER_PROCESS: service/NAME/GENERATION/…
	service   string
	dir       string // with the code and the control socket; removed at the end
	journal   string // folder
	PID       int
	cmd       *exec.Cmd            // nil = of an earlier runtime
	page      atomic.Pointer[page] // nil = not told yet
	loaded    chan controlLine     // its answers to load and reload
	reloading sync.Mutex           // held until an edit is taken over, refused or given up
	Exited    chan struct{}
	redactor  *redact.Redactor
	logs      *spool.Spool
	spawner   *spawn.Spawner

	control sync.Mutex // guards writes to conn
	conn    *net.UnixConn
	heard   chan struct{} // closed when all that came over conn has been read

	mu    sync.Mutex
	idle  []net.Conn
	calls int // on their way through the runtime

	readOrphaned sync.Once
	orphaned     *OrphanedCalls
}

func (w *Worker) cookie() string { return environment.ProcessVariable + "=" + w.id }

// startWorker starts the process and asks it to load the code.
func (t *Manager) startWorker(v *Service, generation int, spec protocol.ServiceSpec, died string) (*Worker, error) {
	cfg := t.deps.Env.Config()
	w := t.newWorker(v, fmt.Sprintf("service/%s/%d/%s", v.Name, generation, environment.NewID()))
	var err error
	if w.dir, err = os.MkdirTemp(cmp.Or(t.deps.Sockets, t.deps.Dir), "service-*"); err != nil {
		return nil, err
	}
	code, err := w.write(generation, spec)
	if err == nil {
		err = os.MkdirAll(w.journal, 0o700)
	}
	if err == nil {
		err = w.start(t, cfg)
	}
	if err == nil {
		line := t.loadLine(cfg, v, generation, spec)
		line.Journal, line.Path, line.Died = w.journal, code, died
		err = w.send(line, nil)
	}
	if err != nil {
		w.kill()
		os.RemoveAll(w.dir)
		return nil, err
	}
	return w, nil
}

func (t *Manager) newWorker(v *Service, id string) *Worker {
	return &Worker{id: id, service: v.Name, journal: t.Journal(v.Name), loaded: make(chan controlLine, 1), Exited: make(chan struct{}),
		redactor: redact.New(t.deps.Env.Config().Secrets), logs: v.Logs, spawner: t.deps.Spawner}
}

// write puts the code into a folder of its own, for a generation that comes later
// must not change what an earlier one shows in its tracebacks.
func (w *Worker) write(generation int, spec protocol.ServiceSpec) (string, error) {
	dir := filepath.Join(w.dir, strconv.Itoa(generation))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, filepath.Base(spec.Filename))
	return path, os.WriteFile(path, []byte(spec.Code), 0o600)
}

func (t *Manager) loadLine(cfg protocol.Config, v *Service, generation int, spec protocol.ServiceSpec) controlLine {
	line := controlLine{Kind: "load", Filename: spec.Filename, Workdir: t.deps.Env.Workdir(cfg), Service: v.Name, Generation: generation,
		Limits: spec.Limits, Record: spec.Record, Tokens: v.limits(), Price: cfg.Price}
	v.mu.Lock()
	line.Seconds = max(0, time.Until(v.recording).Seconds())
	v.mu.Unlock()
	for _, m := range cfg.Models {
		m.Path = t.deps.Env.Real(m.Path)
		line.Models = append(line.Models, m)
	}
	for _, d := range cfg.Datasets {
		d.Path = t.deps.Env.Real(d.Path)
		line.Datasets = append(line.Datasets, d)
	}
	for name := range cfg.Secrets {
		line.Secrets = append(line.Secrets, name)
	}
	return line
}

// ProgramFD is the worker's number of the file with its program.
const ProgramFD = 8

// start starts the process with everything by which a later runtime can take it over.
func (w *Worker) start(t *Manager, cfg protocol.Config) error {
	var files []*os.File // control socket, page, reading ends of stdout and stderr, life
	keep := func(f *os.File, err error) error {
		if err == nil {
			files = append(files, f)
		}
		return err
	}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	if err := cmp.Or(keep(listenControl(w.dir)), keep(osfile.Anonymous(t.deps.Dir, pageSize))); err != nil {
		return err
	}
	var writing [2]*os.File
	for i := range writing {
		r, out, err := os.Pipe()
		if err != nil {
			return err
		}
		defer out.Close()
		files, writing[i] = append(files, r), out
	}
	code, run, err := t.deps.Program.load()
	if err != nil {
		return fmt.Errorf("store the worker: %w", err)
	}
	env := t.deps.Env.Variables(cfg, w.id)
	python, err := environment.LookPath(t.deps.Env.Python(cfg), "/", env)
	if err != nil {
		return err
	}
	w.cmd = &exec.Cmd{Path: python, Args: []string{python, "-I", "-u", "-c", run, t.deps.Program.Entry}, Env: env, Dir: t.deps.Env.Workdir(cfg),
		Stdout: writing[0], Stderr: writing[1], ExtraFiles: append(files[:len(files):len(files)], t.deps.Life, code), SysProcAttr: spawn.DetachedAttr()}
	if err := w.spawner.Start(w.cmd); err != nil {
		w.cmd = nil
		return protocol.Errorf(protocol.Failed, "the interpreter %s cannot be started: %v", python, err)
	}
	w.PID = w.cmd.Process.Pid
	spawn.RaiseFileLimit(w.PID)
	go w.wait()
	if err := w.take(files[1:]); err != nil {
		return err
	}
	return w.connect()
}

// take makes the page and the output of the worker this runtime's.
func (w *Worker) take(files []*os.File) error {
	p, err := mapPage(files[0])
	if err != nil {
		return err
	}
	w.page.Store(p)
	for i, kind := range []protocol.RecordStream{protocol.RecordStdout, protocol.RecordStderr} {
		r, err := osfile.Duplicate(files[1+i])
		if err != nil {
			return err
		}
		go copyLog(w.redactor.Writer(w.logs.Stream(kind)), r)
	}
	return nil
}

func copyLog(w *redact.Writer, r *os.File) {
	defer r.Close()
	_, _ = io.Copy(w, osfile.OnlyReader{Reader: r})
	_ = w.Flush()
}

// connect replaces the connection that the worker had before.
func (w *Worker) connect() error {
	conn, err := dialControl(w.dir)
	if err != nil {
		return err
	}
	w.listen(conn)
	return nil
}

// listen reads what the worker says from now on.
func (w *Worker) listen(conn *net.UnixConn) {
	heard := make(chan struct{})
	w.control.Lock()
	w.conn, w.heard = conn, heard
	w.control.Unlock()
	go w.readControl(conn, heard)
}

func (w *Worker) readControl(conn *net.UnixConn, heard chan struct{}) {
	r := &controlReader{conn: conn}
	for {
		msg, files, err := r.next(w.redactor.Clean)
		if err != nil {
			close(heard)
			w.reconnect(conn)
			return
		}
		switch msg.Kind {
		case "hello":
			if w.page.Load() == nil && len(files) == helloFiles {
				_ = w.take(files) // without them it counts as busy, and is silent
			}
			for _, f := range files {
				f.Close()
			}
		case "ready", "failed", "kept_not":
			select {
			case w.loaded <- msg:
			default:
			}
		}
	}
}

// reconnect finds a worker again that has let its runtime go, and lives.
func (w *Worker) reconnect(conn *net.UnixConn) {
	conn.Close()
	select {
	case <-w.Exited:
	case <-time.After(100 * time.Millisecond):
		_ = w.connect() // if nobody listens, it is about to end
	}
}
