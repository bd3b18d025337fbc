// Package guestssh runs commands on hosts that the user reaches by SSH. The host of the plugin
// runs the user's own OpenSSH: the plugin sees no key, and its manifest names the hosts under
// permissions.ssh.
package guestssh

import (
	"context"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/internal/stream"
)

// Client runs commands on hosts. The zero value is ready, and safe for concurrent use. A plugin
// keeps it behind an interface of its own, so that its tests need no host.
type Client struct {
	pump *stream.Pump // nil = that of the instance
}

// Result is what a command has said, and how it has ended.
type Result struct {
	Stdout []byte
	Stderr string // the end of it, at most 4 KiB
	Code   int    // exit code
}

// Run runs a command on a host and waits for its end, which the end of ctx brings about.
// [sdk.SSHProgram] as the first of argv is Seer's own program on that host. An exit code is no
// error: the errors are *sdk.Error, and say that the command did not run to its end; see
// [sdk.SSHOpen].
func (c Client) Run(ctx context.Context, host string, argv []string, stdin []byte) (Result, error) {
	pump := c.pump
	if pump == nil {
		pump = stream.Instance()
	}
	s, err := pump.OpenSSH(ctx, sdk.SSHOpen{Host: host, Argv: argv, Body: len(stdin) > 0, TimeoutSeconds: stream.Timeout(ctx)})
	if err != nil {
		return Result{}, stream.Late(host, err)
	}
	out, end, err := s.Whole(host, stdin)
	if err != nil {
		return Result{}, err
	}
	return Result{Stdout: out, Stderr: end.Event.Message, Code: int(end.Event.Code)}, nil
}
