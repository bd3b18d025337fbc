package kube

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/kube/kubewire"
	"github.com/seer-engine/seer/sdk"
)

// Limits of what is kept of a process.
const (
	MaxOutput = 16 << 20 // bytes of the standard output of a command, and of its standard error
	maxSaid   = 16 << 10 // of the standard error of others, the last ones
)

// Result is how a command has ended, and what it has said.
type Result struct {
	Stdout []byte
	Stderr []byte
	Code   int // exit code; 128 + the signal's number where a signal ended it
}

// Exec runs a command in a pod until it ends. [sdk.SSHProgram] as the first word of it is Seer's
// program, which is brought there. An error says that the command did not run to its end; it wraps
// an [sdk.Error], [sdk.NotFound] where the pod is gone. When ctx ends, the connection to the
// command does; a command that neither reads nor writes goes on.
func (c *Client) Exec(ctx context.Context, contextName string, e sdk.KubeExec, stdin io.Reader) (Result, error) {
	in := pod{contextName, "", e.Namespace, e.Pod, e.Container}
	if len(e.Argv) == 0 {
		return Result{}, sdk.Errorf(sdk.Invalid, "run a command in the pod %s: there is no command", in)
	}
	if e.Argv[0] != sdk.SSHProgram {
		return c.exec(ctx, in, e.Argv, stdin)
	}
	for again := false; ; again = true {
		path, err := c.runtime(ctx, in)
		if err != nil {
			return Result{}, err
		}
		result, err := c.exec(ctx, in, append([]string{path}, e.Argv[1:]...), stdin)
		if err != nil || (result.Code != 126 && result.Code != 127) || !bytes.Contains(result.Stderr, []byte(path)) {
			return result, err
		}
		c.place(in).Forget()
		if again || stdin != nil {
			return Result{}, sdk.Errorf(sdk.Unavailable, "run a command in the pod %s: Seer's program, which was there, has been removed; try again", in)
		}
	}
}

// pod is a container of one, and the way to it.
type pod struct {
	context    string
	kubeconfig string // the value of KUBECONFIG; empty = this program's
	namespace  string
	name       string
	container  string
}

func (p pod) String() string { return p.namespace + "/" + p.name }

func (p pod) key() string {
	return strings.Join([]string{p.context, p.kubeconfig, p.namespace, p.name, p.container}, "\x00")
}

// process makes a process of `seer-kube exec` without standard streams. It ends when this program
// does, or when end is called.
func (c *Client) process(ctx context.Context, in pod, mark string, argv []string) (cmd *exec.Cmd, end func(), err error) {
	program, err := c.program()
	if err != nil {
		return nil, nil, err
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, nil, sdk.Errorf(sdk.Unavailable, "reach Kubernetes clusters: %v", err)
	}
	args := []string{"exec", "-mark", mark, "-parent", "3", "--", in.context, in.namespace, in.name, in.container}
	cmd = exec.CommandContext(ctx, program, append(args, argv...)...)
	group(cmd)
	cmd.ExtraFiles, cmd.Env, cmd.WaitDelay = []*os.File{theirs}, c.environ(in.kubeconfig), time.Second
	return cmd, sync.OnceFunc(func() { _ = theirs.Close(); _ = ours.Close() }), nil
}

// exec runs a command as it is.
func (c *Client) exec(ctx context.Context, in pod, argv []string, stdin io.Reader) (Result, error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	mark := rand.Text()
	cmd, end, err := c.process(inner, in, mark, argv)
	if err != nil {
		return Result{}, err
	}
	defer end()
	out, said := &kept{limit: MaxOutput, full: cancel}, &kept{limit: MaxOutput, full: cancel}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, out, said
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return Result{}, ctx.Err()
	case out.over() || said.over():
		return Result{}, sdk.Errorf(sdk.Unsupported, "run a command in the pod %s: it has said more than %d MiB", in, MaxOutput>>20)
	case err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay): // of a standard input that does not end
		return Result{}, sdk.Errorf(sdk.Unavailable, "run a command in the pod %s: %v", in, err)
	}
	code := cmd.ProcessState.ExitCode()
	if code < 0 {
		return Result{}, sdk.Errorf(sdk.Unavailable, "run a command in the pod %s: the program that does was killed; the command may still run", in)
	}
	if code == kubewire.OwnError {
		if own := failure(said.bytes(), mark); own != nil {
			return Result{}, own
		}
	}
	return Result{Stdout: out.bytes(), Stderr: said.bytes(), Code: code}, nil
}

// failure finds what seer-kube itself has said; nil = nothing.
func failure(said []byte, mark string) error {
	at := bytes.LastIndex(said, []byte("\n"+mark+" "))
	if at < 0 {
		return nil
	}
	return kubewire.ParseFailure(bytes.TrimSpace(said[at+len(mark)+2:]))
}

// kept keeps what a process says, up to a limit.
type kept struct {
	limit int
	full  func() // called when there is more; nil = the beginning is dropped

	mu   sync.Mutex
	buf  bytes.Buffer
	past bool
}

func (k *kept) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.buf.Write(p)
	switch {
	case k.buf.Len() <= k.limit:
	case k.full == nil:
		k.buf.Next(k.buf.Len() - k.limit)
	default:
		k.past = true
		k.full()
		return 0, errors.New("too much output")
	}
	return len(p), nil
}

func (k *kept) over() bool    { k.mu.Lock(); defer k.mu.Unlock(); return k.past }
func (k *kept) bytes() []byte { k.mu.Lock(); defer k.mu.Unlock(); return bytes.Clone(k.buf.Bytes()) }
