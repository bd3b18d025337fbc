// Package repl runs a Python of a sandbox that keeps its variables, shared by all
// who use the sandbox: code is handed over as files and the interpreter is rung, and what it
// prints stands between marks in its output.
package repl

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
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
)

//go:embed interpreter.py
var program string

const (
	// Name is the name of its process, by which it is found again.
	Name     = "seer-python"
	idPrefix = "python-" // and a number that grows
	// folder is where code and images are handed over.
	folder = "~/.seer/interpreter"
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
func Prepare(ctx context.Context, c *client.Client, p Python) error {
	setup, err := json.Marshal(p.Setup)
	if err != nil {
		return err
	}
	if p.Setup == nil {
		setup = []byte("[]")
	}
	if err := c.Files().Write(ctx, folder+"/setup.json", bytes.NewReader(setup), 0o600); err != nil {
		return fmt.Errorf("prepare the interpreter: %w", err)
	}
	_, _, err = Ensure(ctx, c, p, true)
	return err
}

// Interpreter is one that runs, and was ready once.
type Interpreter struct {
	Process protocol.Process
	Nonce   string
}

// Path is where a file that is handed over is.
func (i Interpreter) Path(name string) string {
	return folder + "/" + i.Nonce + "/" + name
}

// Ensure finds the interpreter or starts it; with again, anew. why tells what became of
// the one before, where there was one.
func Ensure(ctx context.Context, c *client.Client, p Python, again bool) (i Interpreter, why string, err error) {
	all, err := c.Processes().List(ctx)
	if err != nil {
		return i, "", err
	}
	number := 0
	for _, q := range all {
		n, err := strconv.Atoi(strings.TrimPrefix(q.ID, idPrefix))
		if q.Name != Name || err != nil || n < number {
			continue
		}
		number, i.Process = n, q
	}
	switch {
	case number > 0 && i.Process.State == protocol.ProcessRunning && !again:
		i.Nonce = i.Process.Argv[len(i.Process.Argv)-1]
		return i, "", nil
	case number > 0 && i.Process.State == protocol.ProcessRunning:
		if err := kill(ctx, c, i.Process.ID); err != nil {
			return i, "", err
		}
		why = "as was asked for"
	case number > 0:
		why = "because " + Fate(i.Process)
	}
	i, err = start(ctx, c, p, idPrefix+strconv.Itoa(number+1))
	return i, why, err
}

// Fate is how a process has ended.
func Fate(p protocol.Process) string {
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
func start(ctx context.Context, c *client.Client, p Python, id string) (Interpreter, error) {
	python := p.Python
	if python == "" {
		python = "python3"
	}
	q, err := c.Processes().StartOnce(ctx, protocol.ProcessSpec{
		ID: id, Name: Name, Argv: []string{python, "-u", "-c", program, folder, newID()},
		Cwd: p.Workdir, Stdin: true, Background: true, Activity: "~/.seer/interpreter.active",
	})
	if err != nil {
		return Interpreter{}, fmt.Errorf("start the interpreter: %w", err)
	}
	i := Interpreter{Process: q, Nonce: q.Argv[len(q.Argv)-1]}
	run := NewRun("start")
	run.Nonce = i.Nonce
	var out, errs Clip
	o, e := run.Readers(&out, &errs)
	var raw Clip // of one that does not come so far
	_, end, err := c.Processes().Output(ctx, q.ID, 0, true, o, io.MultiWriter(&raw, e))
	switch {
	case errors.Is(err, ErrEnough) && run.Status == OK:
		return i, nil
	case errors.Is(err, ErrEnough):
		_ = kill(context.WithoutCancel(ctx), c, q.ID)
		return i, &protocol.CallError{Code: protocol.CallRaised, Type: run.Raised, Message: run.Message.String(), Traceback: run.Trace.String()}
	case err != nil:
		return i, err
	}
	return i, fmt.Errorf("the interpreter %s: %s\n%s", strings.Join(q.Argv[:1], ""), Fate(*end), withoutMarks(raw.String()))
}

// withoutMarks is what an interpreter has said that ended before it was ready.
func withoutMarks(said string) string {
	lines := slices.DeleteFunc(strings.Split(said, "\n"), func(line string) bool { return strings.HasPrefix(line, "\x00seer-") })
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// Submit hands code over, and rings.
func (i Interpreter) Submit(ctx context.Context, c *client.Client, id, code string) error {
	data, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		return err
	}
	if err := c.Files().Write(ctx, i.Path(id+".request"), bytes.NewReader(data), 0o600); err != nil {
		return err
	}
	// Who has rung at the same time has rung for both.
	offset, err := c.Processes().WriteStdin(ctx, i.Process.ID, 0, nil, false)
	if err == nil {
		_, err = c.Processes().WriteStdin(ctx, i.Process.ID, offset, []byte("\n"), false)
	}
	if protocol.CodeOf(err) == protocol.Conflict {
		return nil // it has just ended, which its output tells
	}
	return err
}

// Execute runs code and returns what it prints to its standard output, at most
// [MaxText] bytes. One that raises is a [*protocol.CallError] with the traceback.
func Execute(ctx context.Context, c *client.Client, p Python, code string) (string, error) {
	var printed text
	var other Clip
	if err := Stream(ctx, c, p, code, &printed, &other); err != nil {
		return "", err
	}
	return string(printed), nil
}

// Stream runs code and passes on what it prints. One that raises is a [*protocol.CallError]
// with the traceback. When ctx ends, the code is interrupted.
func Stream(ctx context.Context, c *client.Client, p Python, code string, stdout, stderr io.Writer) error {
	i, _, err := Ensure(ctx, c, p, false)
	if err != nil {
		return err
	}
	now, err := c.Processes().Get(ctx, i.Process.ID)
	if err != nil {
		return err
	}
	run := NewRun("x-" + newID())
	run.Nonce = i.Nonce
	if err := i.Submit(ctx, c, run.ID, code); err != nil {
		return err
	}
	out, errs := run.Readers(stdout, stderr)
	_, end, err := c.Processes().Output(ctx, i.Process.ID, now.OutputBytes, true, out, errs)
	switch {
	case end != nil:
		return fmt.Errorf("the interpreter has ended: %s", Fate(*end))
	case ctx.Err() != nil:
		short, stop := context.WithTimeout(context.WithoutCancel(ctx), interruptPatience)
		defer stop()
		return errors.Join(ctx.Err(), i.Interrupt(short, c, run.ID))
	case !errors.Is(err, ErrEnough):
		return err
	case run.State() != OK:
		defer run.Hold()()
		return &protocol.CallError{Code: protocol.CallRaised, Type: run.Raised, Message: run.Message.String(), Traceback: run.Trace.String()}
	}
	return nil
}

// interruptPatience is how long the interpreter is asked to interrupt code.
const interruptPatience = 5 * time.Second

// Withdraw takes code back that has not begun, and reports whether it has.
func (i Interpreter) Withdraw(ctx context.Context, c *client.Client, id string) (bool, error) {
	err := c.Files().Remove(ctx, i.Path(id+".request"), false)
	if protocol.CodeOf(err) == protocol.NotFound {
		return false, nil
	}
	return err == nil, err
}

// Interrupt raises KeyboardInterrupt in code that runs. It does not wait.
func (i Interpreter) Interrupt(ctx context.Context, c *client.Client, id string) error {
	if err := c.Files().Write(ctx, i.Path(id+".interrupt"), strings.NewReader(""), 0o600); err != nil {
		return err
	}
	return c.Processes().Signal(ctx, i.Process.ID, "INT")
}

// Kill ends the interpreter with everything that it has started if that code runs in it, and
// never while other code does. It reports whether it was killed: code that nothing says to
// run has ended, or has itself removed what would say so.
func (i Interpreter) Kill(ctx context.Context, c *client.Client, id string) (bool, error) {
	if !slices.Contains(i.Process.Argv, program) { // of another version, which may not say what runs
		return true, kill(ctx, c, i.Process.ID)
	}
	// In this order: at the end of the code, the interpreter first takes away what says that it runs, then
	// looks whether it is to be killed.
	if err := c.Files().Write(ctx, i.Path(id+".kill"), strings.NewReader(""), 0o600); err != nil {
		return false, err
	}
	_, err := c.Files().Stat(ctx, i.Path(id+".running"))
	if protocol.CodeOf(err) == protocol.NotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, kill(ctx, c, i.Process.ID)
}

// Fetch reads the images that code has left, and takes them away.
func (i Interpreter) Fetch(ctx context.Context, c *client.Client, files []Image) (images [][]byte, err error) {
	for _, f := range slices.Clone(files) {
		var data limited
		_, rerr := c.Files().Read(ctx, i.Path(f.Name), &data)
		if errors.Is(rerr, ErrEnough) {
			rerr, data = nil, nil // told by its absence
		}
		_ = c.Files().Remove(ctx, i.Path(f.Name), false) // else it goes with the interpreter
		images, err = append(images, data), errors.Join(err, rerr)
	}
	return images, err
}
