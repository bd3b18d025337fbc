package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// Processes is the client of the processes of a machine.
type Processes struct{ *transport }

// Start starts a command and returns at once.
func (c Processes) Start(ctx context.Context, spec protocol.ProcessSpec) (protocol.Process, error) {
	var p protocol.Process
	return p, c.json(ctx, http.MethodPost, "/v1/processes", nil, spec, &p)
}

// Get reads the state of one process.
func (c Processes) Get(ctx context.Context, id string) (protocol.Process, error) {
	var p protocol.Process
	return p, c.json(ctx, http.MethodGet, processPath(id), nil, nil, &p)
}

// List lists the processes of the machine, oldest first.
func (c Processes) List(ctx context.Context) ([]protocol.Process, error) {
	return list[protocol.Process](ctx, c.transport, "/v1/processes", nil, "processes")
}

// Resize sets the size of the terminal of a process.
func (c Processes) Resize(ctx context.Context, id string, rows, cols int) error {
	return c.json(ctx, http.MethodPost, processPath(id)+"/resize", nil, map[string]int{"rows": rows, "cols": cols}, nil)
}

// Signal sends INT, TERM, HUP or KILL to the whole tree of a process. After TERM and KILL
// it is not started again.
func (c Processes) Signal(ctx context.Context, id, signal string) error {
	return c.json(ctx, http.MethodPost, processPath(id)+"/signal", nil, map[string]string{"signal": signal}, nil)
}

// Delete kills the tree of a process and forgets it.
func (c Processes) Delete(ctx context.Context, id string) error {
	return c.json(ctx, http.MethodDelete, processPath(id), nil, nil, nil)
}

// WriteStdin sends data to a process. Offset is how many bytes were sent before, so that a
// repeat is harmless; eof closes the stream after data. It returns the offset to continue
// with.
func (c Processes) WriteStdin(ctx context.Context, id string, offset int64, data []byte, eof bool) (int64, error) {
	q := url.Values{"offset": {strconv.FormatInt(offset, 10)}}
	if eof {
		q.Set("eof", "1")
	}
	resp, err := c.do(ctx, http.MethodPost, processPath(id)+"/stdin", q, bytes.NewReader(data))
	if err != nil {
		return offset, err
	}
	defer drain(resp.Body)
	var answer struct {
		Offset int64 `json:"offset"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return offset, fmt.Errorf("read the answer to stdin of process %s: %w", id, err)
	}
	return answer.Offset, nil
}

// Output copies what a process has written from byte offset of its spool. With follow it
// continues until the process has ended, and resumes after a cut connection. It returns the
// offset to continue with, and the process if it has ended.
func (c Processes) Output(ctx context.Context, id string, offset int64, follow bool, stdout, stderr io.Writer) (int64, *protocol.Process, error) {
	return c.records(ctx, processPath(id)+"/output", offset, follow, stdout, stderr)
}

// Run runs a command to its end and copies its streams. It returns the process
// as it ended, whatever its exit code. A cut connection is taken up again. When
// ctx is cancelled, the process and everything it started is killed.
//
// Run does not wait for a Read of stdin that is still blocked when the process
// has ended. When stdin cannot be read to its end, the process is killed, and that is the error.
func (c Processes) Run(ctx context.Context, spec protocol.ProcessSpec, stdin io.Reader, stdout, stderr io.Writer) (protocol.Process, error) {
	spec.Stdin = stdin != nil
	if spec.ID == "" {
		spec.ID = protocol.NewID("p-")
	}
	p, err := c.StartOwn(ctx, spec)
	if err != nil {
		return protocol.Process{}, err
	}
	ioCtx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if stdin != nil {
		go func() {
			if err := c.pumpStdin(ioCtx, p.ID, stdin); err != nil {
				stop(err)
			}
		}()
	}
	_, end, err := c.Output(ioCtx, p.ID, 0, true, stdout, stderr)
	if err != nil {
		if ctx.Err() == nil && ioCtx.Err() != nil {
			err = context.Cause(ioCtx)
		}
		if !Ended(err) { // nobody would hear it
			c.kill(ctx, p.ID)
		}
		return p, lostProcess(err)
	}
	return *end, nil
}

// lostProcess explains what an unknown process means in the middle of a run.
func lostProcess(err error) error {
	if errors.Is(err, &protocol.Error{Code: protocol.NotFound}) {
		return protocol.Errorf(protocol.Unavailable, "the runtime of the sandbox was started again while the command ran: the command was ended with it")
	}
	return err
}

// StartOwn is StartOnce of a process that no other caller starts: if ctx ends meanwhile, it is
// killed. A kill that overtakes the start would find no process, so the answer to the start is
// waited for, up to killPatience.
func (c Processes) StartOwn(ctx context.Context, spec protocol.ProcessSpec) (protocol.Process, error) {
	starting, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(killPatience, stop) })()
	p, err := c.StartOnce(starting, spec)
	if ctx.Err() == nil {
		return p, err
	}
	c.kill(ctx, spec.ID)
	return protocol.Process{}, context.Cause(ctx)
}

// killPatience is how long a caller whose context has ended waits for what is still to be said
// to the machine.
const killPatience = 5 * time.Second

// StartOnce is Start of a process whose ID the caller has chosen. It repeats a start that
// got no answer, which the ID makes harmless.
func (c Processes) StartOnce(ctx context.Context, spec protocol.ProcessSpec) (protocol.Process, error) {
	for b, tries := newBackoff(), 0; ; tries++ {
		p, err := c.Start(ctx, spec)
		if err == nil || !passing(err) || tries == 5 {
			return p, err
		}
		if werr := b.Wait(ctx); werr != nil {
			return p, werr
		}
	}
}

// kill is for a caller whose own context has ended.
func (c Processes) kill(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killPatience)
	defer cancel()
	// Whatever is left ends with the linger rule or with the machine.
	_ = c.Signal(ctx, id, "KILL")
}

// pumpStdin sends what a reader gives. It returns the reader's error: to the process, the end of a part
// would look like the end of the whole.
func (c Processes) pumpStdin(ctx context.Context, id string, r io.Reader) error {
	var offset int64
	buf := make([]byte, 128<<10)
	for {
		n, rerr := r.Read(buf)
		if ctx.Err() != nil {
			return nil
		}
		if n == 0 && rerr == nil {
			continue
		}
		ended := noMoreInput(rerr)
		if rerr != nil && !ended {
			return fmt.Errorf("the command was killed because its input could not be read to the end: %w", rerr)
		}
		// An error here means that the process reads no more; its exit code tells.
		next, err := c.writeOnce(ctx, id, offset, buf[:n], ended)
		if err != nil || ended {
			return nil
		}
		offset = next
	}
}

// noMoreInput reports whether an error of a reader is its end. A program may be started without an
// input, and may close its own.
func noMoreInput(err error) bool {
	return slices.ContainsFunc([]error{io.EOF, io.ErrClosedPipe, os.ErrClosed, syscall.EBADF}, func(end error) bool { return errors.Is(err, end) })
}

func (c Processes) writeOnce(ctx context.Context, id string, offset int64, data []byte, eof bool) (int64, error) {
	for b := newBackoff(); ; {
		next, err := c.WriteStdin(ctx, id, offset, data, eof)
		if err == nil || !passing(err) {
			return next, err
		}
		if werr := b.Wait(ctx); werr != nil {
			return offset, werr
		}
	}
}

func processPath(id string) string { return "/v1/processes/" + url.PathEscape(id) }
