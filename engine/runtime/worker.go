package runtime

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

// worker is the Python process of a service.
type worker struct {
	cookie  string
	dir     string // with the code; removed at the end
	cmd     *exec.Cmd
	page    *page
	loaded  chan controlLine // its answer to load
	exited  chan struct{}
	spawner *spawner

	control sync.Mutex // guards writes to conn
	conn    *net.UnixConn

	mu    sync.Mutex
	idle  []net.Conn
	calls int // on their way through the runtime
}

// controlLine is a message between runtime and worker.
type controlLine struct {
	Kind      string              `json:"t"`
	Filename  string              `json:"filename,omitempty"`
	Path      string              `json:"path,omitempty"`
	Models    []protocol.Model    `json:"models,omitempty"`
	Workdir   string              `json:"workdir,omitempty"`
	Secrets   []string            `json:"secrets,omitempty"` // names; the values are variables
	Hello     string              `json:"hello,omitempty"`   // what the worker says first on a new connection
	Interface *sdk.Interface      `json:"interface,omitempty"`
	Error     *protocol.CallError `json:"error,omitempty"`
}

// startWorker starts the process and asks it to load the code.
func (s *Server) startWorker(name string, generation int, spec protocol.ServiceSpec, logs *spool) (*worker, error) {
	cfg := s.config()
	id := fmt.Sprintf("service/%s/%d/%s", name, generation, newProcessID())
	w := &worker{cookie: processVariable + "=" + id, loaded: make(chan controlLine, 1), exited: make(chan struct{}), spawner: s.spawner}
	var err error
	if w.dir, err = os.MkdirTemp(s.scratch, "service-*"); err != nil {
		return nil, err
	}
	code := filepath.Join(w.dir, filepath.Base(spec.Filename))
	if err = os.WriteFile(code, []byte(spec.Code), 0o600); err == nil {
		err = w.start(s, cfg, id, newScrubber(cfg.Secrets), logs)
	}
	if err == nil {
		err = w.send(s.loadLine(cfg, spec.Filename, code), nil)
	}
	if err != nil {
		w.kill()
		os.RemoveAll(w.dir)
		return nil, err
	}
	return w, nil
}

func (s *Server) loadLine(cfg protocol.Config, filename, path string) controlLine {
	line := controlLine{Kind: "load", Filename: filename, Path: path, Workdir: s.workdir(cfg)}
	for _, m := range cfg.Models {
		m.Path = s.real(m.Path)
		line.Models = append(line.Models, m)
	}
	for name := range cfg.Secrets {
		line.Secrets = append(line.Secrets, name)
	}
	return line
}

func (w *worker) start(s *Server, cfg protocol.Config, id string, scrub *scrubber, logs *spool) (err error) {
	if w.page, err = newPage(s.scratch); err != nil {
		return err
	}
	defer w.page.f.Close() // the memory stays
	conn, far, err := socketPair()
	if err != nil {
		return err
	}
	w.conn = conn
	defer far.Close()
	outR, outW, err := os.Pipe()
	if err != nil {
		return err
	}
	defer outW.Close()
	errR, errW, err := os.Pipe()
	if err != nil {
		outR.Close()
		return err
	}
	defer errW.Close()
	env := s.environment(cfg, id)
	python, err := lookPath(s.python(cfg), "/", env)
	if err != nil {
		return err
	}
	dir := s.workdir(cfg)
	w.cmd = &exec.Cmd{Path: python, Args: []string{python, "-I", "-u", s.workerEntry}, Env: env, Dir: dir,
		Stdout: outW, Stderr: errW, ExtraFiles: []*os.File{far, w.page.f}, SysProcAttr: processAttr()}
	if err := w.spawner.start(w.cmd); err != nil {
		outR.Close()
		errR.Close()
		w.cmd = nil
		return protocol.Errorf(protocol.Failed, "the interpreter %s cannot be started: %v", python, err)
	}
	go copyLog(scrub.writer(logs.stream(protocol.RecordStdout)), outR)
	go copyLog(scrub.writer(logs.stream(protocol.RecordStderr)), errR)
	go w.readControl(scrub)
	go w.wait()
	return nil
}

func copyLog(w *scrubWriter, r *os.File) {
	defer r.Close()
	_, _ = io.Copy(w, onlyReader{r})
	_ = w.flush()
}

func (w *worker) readControl(scrub *scrubber) {
	r := bufio.NewReader(w.conn)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var msg controlLine
		if json.Unmarshal(scrub.clean(line), &msg) != nil || (msg.Kind != "ready" && msg.Kind != "failed") {
			continue
		}
		select {
		case w.loaded <- msg:
		default:
		}
	}
}

// wait ends what the worker leaves behind: nothing of a service outlives it.
func (w *worker) wait() {
	_ = w.cmd.Wait() // the state says it all
	_ = killTree(0, w.cookie)
	close(w.exited)
	w.conn.Close()
	w.mu.Lock()
	for _, c := range w.idle {
		c.Close()
	}
	w.idle = nil
	w.mu.Unlock()
	os.RemoveAll(w.dir)
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
	status := w.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return "was killed by signal " + signalName(status.Signal())
	}
	return fmt.Sprintf("ended with exit code %d", status.ExitStatus())
}

// send writes a control line, and a descriptor that belongs to it.
func (w *worker) send(line controlLine, f *os.File) error {
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	data = append(data, '\n')
	var rights []byte
	if f != nil {
		rights = syscall.UnixRights(int(f.Fd()))
	}
	w.control.Lock()
	defer w.control.Unlock()
	_ = w.conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
	n, _, err := w.conn.WriteMsgUnix(data, rights, nil)
	if err == nil && n < len(data) {
		_, err = w.conn.Write(data[n:])
	}
	return err
}

// get takes a connection to the worker, or makes one.
func (w *worker) get() (net.Conn, error) {
	w.mu.Lock()
	if n := len(w.idle); n > 0 {
		c := w.idle[n-1]
		w.idle = w.idle[:n-1]
		w.mu.Unlock()
		return c, nil
	}
	w.mu.Unlock()
	near, far, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer far.Close()
	if err := w.send(controlLine{Kind: "conn"}, far); err != nil {
		near.Close()
		return nil, err
	}
	return near, nil
}

// put gives a connection back after a whole answer.
func (w *worker) put(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone() || len(w.idle) >= 16 {
		c.Close()
		return
	}
	w.idle = append(w.idle, c)
}

func (w *worker) gone() bool {
	select {
	case <-w.exited:
		return true
	default:
		return false
	}
}

// retire lets running calls end, for as long as they take within reason. Calls
// that pass through the runtime are waited for before the worker hears of it,
// because one that it has not read yet would be lost.
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
			if !stopped || w.page.busy() {
				since = time.Now()
			}
		}
	}
	w.kill()
}

// enter counts a call on its way through the runtime; leave ends it.
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
	if w.cmd == nil {
		if w.conn != nil {
			w.conn.Close()
		}
		return
	}
	if !w.gone() {
		_ = killTree(w.cmd.Process.Pid, w.cookie)
	}
	<-w.exited
}

func (w *worker) busy() bool { return !w.gone() && w.page.busy() }

// interrupted reports whether an error of a connection means that the worker
// went away.
func interrupted(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, net.ErrClosed)
}
