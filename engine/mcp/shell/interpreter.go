package shell

import (
	"bytes"
	"context"
	_ "embed" // for the program
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

//go:embed interpreter.py
var program string

const (
	// interpreterName is the name of its process, by which it is found again.
	interpreterName = "seer-python"
	interpreterID   = "python-" // and a number that grows
	// interpreterFolder is where code and images are handed over.
	interpreterFolder = "~/.seer/interpreter"
)

// Setup is a piece of Python that runs in the interpreter before anything of the agent,
// and again whenever it is started again.
type Setup struct {
	Name   string `json:"name"` // for errors and tracebacks: "init"
	Code   string `json:"code"`
	Hidden bool   `json:"hidden,omitempty"` // nothing shows it in a CLI session
}

// Python says how the interpreter of a session is started.
type Python struct {
	Python  string // "" = python3
	Workdir string // "" = the sandbox's working folder
	Setup   []Setup
}

// Prepare starts the interpreter of a sandbox and runs the set-up in it, so that the
// agent finds models loaded. A piece that fails is a [*protocol.CallError] with the
// user's own traceback, and leaves no interpreter. One that is there is replaced.
func Prepare(ctx context.Context, c *protocol.Client, p Python) error {
	setup, err := json.Marshal(p.Setup)
	if err != nil {
		return err
	}
	if p.Setup == nil {
		setup = []byte("[]")
	}
	if err := c.WriteFile(ctx, interpreterFolder+"/setup.json", bytes.NewReader(setup), 0o600); err != nil {
		return fmt.Errorf("prepare the interpreter: %w", err)
	}
	_, _, err = ensure(ctx, c, p, true)
	return err
}

// interpreter is one that runs, and was ready once.
type interpreter struct {
	process protocol.Process
	nonce   string
}

func (i interpreter) path(name string) string {
	return interpreterFolder + "/" + i.nonce + "/" + name
}

// lastInterpreter is the one that this server has used.
type lastInterpreter struct {
	mu    sync.Mutex
	nonce string
}

// changed notes the one that is used now, and reports whether it is another than before.
func (l *lastInterpreter) changed(nonce string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	other := l.nonce != "" && l.nonce != nonce
	l.nonce = nonce
	return other
}

// ensure finds the interpreter or starts it; with again, anew. why tells what became of
// the one before, where there was one.
func ensure(ctx context.Context, c *protocol.Client, p Python, again bool) (i interpreter, why string, err error) {
	all, err := c.Processes(ctx)
	if err != nil {
		return i, "", err
	}
	number := 0
	for _, q := range all {
		n, err := strconv.Atoi(strings.TrimPrefix(q.ID, interpreterID))
		if q.Name != interpreterName || err != nil || n < number {
			continue
		}
		number, i.process = n, q
	}
	switch {
	case number > 0 && i.process.State == protocol.ProcessRunning && !again:
		i.nonce = i.process.Argv[len(i.process.Argv)-1]
		return i, "", nil
	case number > 0 && i.process.State == protocol.ProcessRunning:
		if err := endProcess(ctx, c, i.process.ID, true); err != nil {
			return i, "", err
		}
		why = "as was asked for"
	case number > 0:
		why = "because " + fate(i.process)
	}
	i, err = start(ctx, c, p, interpreterID+strconv.Itoa(number+1))
	return i, why, err
}

// fate is how a process has ended.
func fate(p protocol.Process) string {
	switch {
	case p.Signal == "KILL":
		return "it was killed (by somebody, or because the memory was full)"
	case p.Signal != "":
		return "it was ended by the signal " + p.Signal
	}
	return fmt.Sprintf("it has ended with the exit code %d", p.ExitCode)
}

// start starts an interpreter and waits until its set-up has run. Two that do so at once
// get the same one.
func start(ctx context.Context, c *protocol.Client, p Python, id string) (interpreter, error) {
	python := p.Python
	if python == "" {
		python = "python3"
	}
	q, err := startOnce(ctx, c, protocol.ProcessSpec{
		ID: id, Name: interpreterName, Argv: []string{python, "-u", "-c", program, interpreterFolder, newID("")},
		Cwd: p.Workdir, Stdin: true, Background: true, Activity: "~/.seer/interpreter.active",
	})
	if err != nil {
		return interpreter{}, fmt.Errorf("start the interpreter: %w", err)
	}
	i := interpreter{process: q, nonce: q.Argv[len(q.Argv)-1]}
	run := newCodeRun("start")
	run.nonce = i.nonce
	var out, errs clip
	o, e := run.readers(&out, &errs)
	var raw clip // of one that does not come so far
	_, end, err := c.Output(ctx, q.ID, 0, true, o, io.MultiWriter(&raw, e))
	switch {
	case errors.Is(err, errEnough) && run.status == codeOK:
		return i, nil
	case errors.Is(err, errEnough):
		_ = endProcess(context.WithoutCancel(ctx), c, q.ID, true)
		return i, &protocol.CallError{Code: protocol.CallRaised, Type: run.errors, Message: run.message.text(""), Traceback: run.trace.text("")}
	case err != nil:
		return i, err
	}
	return i, fmt.Errorf("the interpreter %s: %s\n%s", strings.Join(q.Argv[:1], ""), fate(*end), strings.TrimSpace(raw.text("")))
}

// submit hands code over, and rings.
func (i interpreter) submit(ctx context.Context, c *protocol.Client, id, code string) error {
	data, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		return err
	}
	if err := c.WriteFile(ctx, i.path(id+".request"), bytes.NewReader(data), 0o600); err != nil {
		return err
	}
	// Who has rung at the same time has rung for both.
	offset, err := c.WriteStdin(ctx, i.process.ID, 0, nil, false)
	if err == nil {
		_, err = c.WriteStdin(ctx, i.process.ID, offset, []byte("\n"), false)
	}
	if protocol.CodeOf(err) == protocol.Conflict {
		return nil // it has just ended, which its output tells
	}
	return err
}

// interruptGrace is how long code has to end after an interrupt. Then its interpreter is
// killed.
const interruptGrace = 5 * time.Second

// interrupt ends code: takes it back if it has not begun, else interrupts it.
func (i interpreter) interrupt(ctx context.Context, c *protocol.Client, t *task) error {
	if err := c.Remove(ctx, i.path(t.id+".request"), false); err == nil {
		t.code.set(func() { t.code.status = codeInterrupted })
		t.drop()
		return nil
	} else if protocol.CodeOf(err) != protocol.NotFound {
		return err
	}
	if err := c.WriteFile(ctx, i.path(t.id+".interrupt"), strings.NewReader(""), 0o600); err != nil {
		return err
	}
	if err := c.Signal(ctx, i.process.ID, "INT"); err != nil {
		return err
	}
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(interruptGrace):
	}
	return endProcess(ctx, c, i.process.ID, true)
}

// fetch reads the images that code has left, and takes them away.
func (i interpreter) fetch(ctx context.Context, c *protocol.Client, files []imageFile) (images [][]byte, err error) {
	for _, f := range slices.Clone(files) {
		var data limited
		_, rerr := c.ReadFile(ctx, i.path(f.name), &data)
		if errors.Is(rerr, errEnough) {
			rerr, data = nil, nil // told by its absence
		}
		_ = c.Remove(ctx, i.path(f.name), false) // else it goes with the interpreter
		images, err = append(images, data), errors.Join(err, rerr)
	}
	return images, err
}
