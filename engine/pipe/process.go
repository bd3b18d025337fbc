package pipe

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Process is a stream of bytes: the standard input and output of a process.
type Process struct {
	io.WriteCloser
	from *bufio.Reader
	cmd  *exec.Cmd
	wait func() // until the process has ended
}

// StartProcess starts a process whose standard input and output nobody has set.
func StartProcess(cmd *exec.Cmd) (*Process, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Process{WriteCloser: in, from: bufio.NewReaderSize(out, 64<<10), cmd: cmd, wait: sync.OnceFunc(func() { _ = cmd.Wait() })}, nil
}

// Read reads what the process says.
func (p *Process) Read(b []byte) (int, error) { return p.from.Read(b) }

// Close kills the process, and waits for its end.
func (p *Process) Close() error {
	_ = p.WriteCloser.Close()
	_ = p.cmd.Process.Kill()
	p.wait()
	return nil
}

// ErrSilent is the error of [Process.AwaitMark] when the limit has passed.
var ErrSilent = errors.New("it says nothing")

// AwaitMark reads up to a line that ends with a mark. What the start-up files of a shell say
// comes before. When the process ends before it, all that it said has been passed on.
func (p *Process) AwaitMark(ctx context.Context, mark string, limit time.Duration) error {
	found := make(chan error, 1)
	go func() {
		for {
			line, err := p.from.ReadSlice('\n')
			if err == nil && strings.HasSuffix(string(line), mark+"\n") {
				found <- nil
				return
			}
			if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				p.wait() // so that all that it said is there
				found <- err
				return
			}
		}
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-found:
		return err
	case <-timer.C:
		return ErrSilent
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stdio makes one stream of this program's two.
func Stdio(in io.ReadCloser, out io.WriteCloser) io.ReadWriteCloser { return stdio{in, out} }

type stdio struct {
	io.ReadCloser
	out io.WriteCloser
}

func (s stdio) Write(p []byte) (int, error) { return s.out.Write(p) }

func (s stdio) Close() error {
	_ = s.out.Close()
	return s.ReadCloser.Close()
}
