package ssh

import (
	"context"
	_ "embed"
	"io"

	"github.com/seer-engine/seer/engine/bring"
)

//go:embed program.sh
var findScript string

// Program brings Seer's program to a host, once for each version of it, and returns its path
// there: in ~/.cache/seer/host, or in /var/tmp/seer-UID/host where that cannot hold
// programs. Versions that nobody has used for 30 days are removed. What is under way goes on
// when ctx ends: over a slow line, it is there for a later call.
func (c *Client) Program(ctx context.Context, host string) (string, error) {
	if err := checkHost(host); err != nil {
		return "", err
	}
	run := func(ctx context.Context, script string, stdin io.Reader, args ...string) (string, error) {
		return c.script(ctx, host, script, stdin, args...)
	}
	path, err := c.host(host).program.Path(ctx, &c.programs, run, findScript)
	if failed, ok := bring.AsFailed(err); ok {
		return "", errorf(host, Unusable, "%v", failed)
	}
	return path, err
}

func (c *Client) forgetProgram(host string) { c.host(host).program.Forget() }

// script runs a script on a host, and returns the last line that it says.
func (c *Client) script(ctx context.Context, host, script string, stdin io.Reader, args ...string) (string, error) {
	argv := append([]string{"/bin/sh", "-c", script, "sh"}, args...)
	result, err := c.run(ctx, host, quote(argv), Command{Stdin: stdin})
	if err != nil {
		return "", err
	}
	if line := lastLine(string(result.Stdout)); line != "" {
		return line, nil
	}
	return "", errorf(host, Unusable, "bring Seer's program there: %s", lastLine(string(result.Stderr)))
}
