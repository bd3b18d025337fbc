package session

import (
	"context"
	"io"
	"net"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/protocol"
)

// Exec runs a command and streams its output as it comes. A nil stdin is empty. A command
// that fails is no error: see [protocol.Process.ExitCode]. When ctx ends, the command and
// everything it started are killed.
func (s Session) Exec(ctx context.Context, spec protocol.ProcessSpec, stdin io.Reader, stdout, stderr io.Writer) (protocol.Process, error) {
	spec.Stdin = stdin != nil
	p, err := s.Client.Processes().Run(ctx, spec, stdin, stdout, stderr)
	return p, errdefs.Wrap(errdefs.KindProvider, err)
}

// ExecPython is [Session.Exec] of code in a fresh interpreter of the sandbox.
func (s Session) ExecPython(ctx context.Context, code string, stdin io.Reader, stdout, stderr io.Writer) (protocol.Process, error) {
	h, err := s.Client.Health(ctx)
	if err != nil {
		return protocol.Process{}, errdefs.Wrap(errdefs.KindProvider, err)
	}
	return s.Exec(ctx, protocol.ProcessSpec{Argv: []string{h.Python, "-u", "-c", code}}, stdin, stdout, stderr)
}

// Usage is what the sandbox uses now: processor, memory, disks, GPUs.
func (s Session) Usage(ctx context.Context) (protocol.Usage, error) {
	u, err := s.Client.Usage(ctx)
	return u, errdefs.Wrap(errdefs.KindProvider, err)
}

// DialPort connects to a port of the sandbox, through the runtime, whatever the provider
// has. A port on which nobody listens is [errdefs.KindProvider].
func (s Session) DialPort(ctx context.Context, port int) (net.Conn, error) {
	conn, err := s.Client.DialPort(ctx, port)
	return conn, errdefs.Wrap(errdefs.KindProvider, err)
}
