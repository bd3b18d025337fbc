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
	"strconv"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// StartProcess starts a command and returns at once.
func (c *Client) StartProcess(ctx context.Context, spec protocol.ProcessSpec) (protocol.Process, error) {
	var p protocol.Process
	return p, c.json(ctx, http.MethodPost, "/v1/processes", nil, spec, &p)
}

// Process reads the state of one process.
func (c *Client) Process(ctx context.Context, id string) (protocol.Process, error) {
	var p protocol.Process
	return p, c.json(ctx, http.MethodGet, processPath(id), nil, nil, &p)
}

// Processes lists the processes of the machine, oldest first.
func (c *Client) Processes(ctx context.Context) ([]protocol.Process, error) {
	var list struct {
		Processes []protocol.Process `json:"processes"`
	}
	return list.Processes, c.json(ctx, http.MethodGet, "/v1/processes", nil, nil, &list)
}

// Resize tells the terminal of a process its size.
func (c *Client) Resize(ctx context.Context, id string, rows, cols int) error {
	return c.json(ctx, http.MethodPost, processPath(id)+"/resize", nil, map[string]int{"rows": rows, "cols": cols}, nil)
}

// Signal sends INT, TERM, HUP or KILL to the whole tree of a process. After TERM and KILL
// it is not started again.
func (c *Client) Signal(ctx context.Context, id, signal string) error {
	return c.json(ctx, http.MethodPost, processPath(id)+"/signal", nil, map[string]string{"signal": signal}, nil)
}

// DeleteProcess kills the tree of a process and forgets it.
func (c *Client) DeleteProcess(ctx context.Context, id string) error {
	return c.json(ctx, http.MethodDelete, processPath(id), nil, nil, nil)
}

// WriteStdin sends data to a process. Offset is how many bytes were sent
// before, so that a repeat is harmless; eof closes the stream after data. It
// returns the offset to go on with.
func (c *Client) WriteStdin(ctx context.Context, id string, offset int64, data []byte, eof bool) (int64, error) {
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

// Output copies what a process has written from byte offset of its spool. With
// follow it goes on until the process has ended; a cut connection is taken up
// again where it was cut. It returns the offset to go on with, and the process
// once its end was seen.
func (c *Client) Output(ctx context.Context, id string, offset int64, follow bool, stdout, stderr io.Writer) (int64, *protocol.Process, error) {
	return c.records(ctx, processPath(id)+"/output", offset, follow, stdout, stderr)
}

// Run runs a command to its end and copies its streams. It returns the process
// as it ended, whatever its exit code. A cut connection is taken up again. When
// ctx is cancelled, the process and everything it started is killed.
//
// Run does not wait for a Read of stdin that is still blocked when the process
// has ended.
func (c *Client) Run(ctx context.Context, spec protocol.ProcessSpec, stdin io.Reader, stdout, stderr io.Writer) (protocol.Process, error) {
	spec.Stdin = stdin != nil
	if spec.ID == "" {
		spec.ID = protocol.NewID("p-")
	}
	p, err := c.startOnce(ctx, spec)
	if err != nil {
		if ctx.Err() != nil {
			c.kill(ctx, spec.ID)
		}
		return protocol.Process{}, err
	}
	ioCtx, stop := context.WithCancel(ctx)
	defer stop()
	if stdin != nil {
		go c.pumpStdin(ioCtx, p.ID, stdin)
	}
	_, end, err := c.Output(ctx, p.ID, 0, true, stdout, stderr)
	if err != nil {
		c.kill(ctx, p.ID)
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

// startOnce repeats a start that got no answer: the caller's ID makes that
// harmless.
func (c *Client) startOnce(ctx context.Context, spec protocol.ProcessSpec) (protocol.Process, error) {
	for b, tries := (backoff{}), 0; ; tries++ {
		p, err := c.StartProcess(ctx, spec)
		if err == nil || !passing(err) || tries == 5 {
			return p, err
		}
		if werr := b.wait(ctx); werr != nil {
			return p, werr
		}
	}
}

// kill is for a caller whose own context has ended.
func (c *Client) kill(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	// Whatever is left ends with the linger rule or with the machine.
	_ = c.Signal(ctx, id, "KILL")
}

func (c *Client) pumpStdin(ctx context.Context, id string, r io.Reader) {
	var offset int64
	buf := make([]byte, 128<<10)
	for {
		n, rerr := r.Read(buf)
		if ctx.Err() != nil {
			return
		}
		if n == 0 && rerr == nil {
			continue
		}
		// An error here means that the process reads no more; its exit code tells.
		next, err := c.writeStdinOnce(ctx, id, offset, buf[:n], rerr != nil)
		if err != nil || rerr != nil {
			return
		}
		offset = next
	}
}

func (c *Client) writeStdinOnce(ctx context.Context, id string, offset int64, data []byte, eof bool) (int64, error) {
	for b := (backoff{}); ; {
		next, err := c.WriteStdin(ctx, id, offset, data, eof)
		if err == nil || !passing(err) {
			return next, err
		}
		if werr := b.wait(ctx); werr != nil {
			return offset, werr
		}
	}
}

// followWait is how long one request for output lasts: less than tunnels allow.
const followWait = 30 * time.Second

// maxSilence is how long a follower tries to get through to the runtime again.
const maxSilence = 2 * time.Minute

// records copies output records from path, over as many requests as it takes.
func (c *Client) records(ctx context.Context, path string, offset int64, follow bool, stdout, stderr io.Writer) (int64, *protocol.Process, error) {
	var b backoff
	last := time.Now()
	for {
		f := &recordCopy{stdout: stdout, stderr: stderr, offset: offset}
		err := c.copyRecords(ctx, path, follow, f)
		if f.offset != offset {
			offset, last = f.offset, time.Now()
			b.reset()
		}
		switch {
		case f.end != nil || (err == nil && !follow):
			return offset, f.end, nil
		case f.sink != nil:
			return offset, nil, f.sink
		case ctx.Err() != nil:
			return offset, nil, ctx.Err()
		case err == nil: // waited long enough; ask again
			last = time.Now()
			b.reset()
			continue
		case !passing(err) || Ended(err) || time.Since(last) > maxSilence:
			return offset, nil, err
		}
		if werr := b.wait(ctx); werr != nil {
			return offset, nil, werr
		}
	}
}

func (c *Client) copyRecords(ctx context.Context, path string, follow bool, f *recordCopy) error {
	q := url.Values{"offset": {strconv.FormatInt(f.offset, 10)}}
	if follow {
		q.Set("follow", "1")
		q.Set("wait", strconv.Itoa(int(followWait/time.Second)))
	}
	resp, err := c.do(ctx, http.MethodGet, path, q, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if at, err := strconv.ParseInt(resp.Header.Get(protocol.HeaderOffset), 10, 64); err == nil {
		f.skip(at)
	}
	return f.run(protocol.NewRecordReader(resp.Body))
}

// recordCopy copies whole records and counts them, so that it can go on after
// the last whole one.
type recordCopy struct {
	stdout, stderr io.Writer
	offset         int64
	end            *protocol.Process
	sink           error // a writer of the caller failed
}

// skip takes note of where the answer begins. That the oldest output is gone is
// told where a person sees it.
func (f *recordCopy) skip(to int64) {
	if to > f.offset && f.stderr != nil {
		_, f.sink = fmt.Fprintf(f.stderr, "seer: %d bytes of older output have been dropped\n", to-f.offset)
	}
	f.offset = to
}

func (f *recordCopy) run(r *protocol.RecordReader) error {
	for {
		s, data, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		w := f.stdout
		switch s {
		case protocol.RecordEnd:
			var p protocol.Process
			if err := json.Unmarshal(data, &p); err != nil {
				return fmt.Errorf("the end record of a process is not valid: %w", err)
			}
			f.end = &p
			return nil
		case protocol.RecordStderr:
			w = f.stderr
		}
		if w != nil {
			if _, f.sink = w.Write(data); f.sink != nil {
				return f.sink
			}
		}
		f.offset += protocol.RecordHeader + int64(len(data))
	}
}

func processPath(id string) string { return "/v1/processes/" + url.PathEscape(id) }
