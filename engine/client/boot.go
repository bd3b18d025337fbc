package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/seer-engine/seer/engine/protocol"
)

// BootOptions say how to start the runtime of a machine.
type BootOptions struct {
	// Binary returns the path of the runtime for a system and architecture in
	// Go's names, such as linux and arm64.
	Binary func(goos, goarch string) (path string, err error)

	// Progress, if set, receives how many bytes of the runtime have been sent. It is not
	// called if the machine has the runtime in its cache.
	Progress func(sent, total int64)
}

// Boot waits until the machine answers, starts the runtime on it and returns
// its health. A machine whose runtime runs already is left as it is. Only ctx
// limits how long it waits.
func (c *Client) Boot(ctx context.Context, o BootOptions) (protocol.Health, error) {
	var why error // of the last attempt that the caller's patience has not cut
	for b := newBackoff(); ; {
		err := c.boot(ctx, o)
		if err == nil {
			return c.awaitHealth(ctx)
		}
		if ctx.Err() != nil && why != nil {
			err = why
		}
		why = err
		// The runtime finds none of the loader's requests but the first: somebody else was faster.
		if !passing(err) && protocol.CodeOf(err) != protocol.NotFound {
			return protocol.Health{}, err
		}
		if b.Wait(ctx) != nil {
			return protocol.Health{}, fmt.Errorf("boot the sandbox: %w: %w", context.Cause(ctx), err)
		}
	}
}

func (c *Client) boot(ctx context.Context, o BootOptions) error {
	var info protocol.LoaderInfo
	if err := (loader{c.transport}).ask(ctx, http.MethodGet, "", nil, nil, &info); err != nil {
		return err
	}
	if info.Started {
		return nil
	}
	goos, goarch, err := platformOf(info)
	if err != nil {
		return err
	}
	path, err := o.Binary(goos, goarch)
	if err != nil {
		return err
	}
	return loader{c.transport}.start(ctx, path, info.Have, o.Progress)
}

func platformOf(i protocol.LoaderInfo) (goos, goarch string, err error) {
	goos = map[string]string{"Linux": "linux", "Darwin": "darwin"}[i.System]
	goarch = map[string]string{"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}[i.Arch]
	if goos == "" || goarch == "" {
		return "", "", protocol.Errorf(protocol.Unsupported, "the machine is %s on %s; the runtime needs Linux or macOS on x86_64 or arm64", i.System, i.Arch)
	}
	return goos, goarch, nil
}

// loader is the client of the program that waits on a machine for its runtime.
type loader struct{ *transport }

// start brings the binary to a machine that does not have it.
func (c loader) start(ctx context.Context, path string, have []string, progress func(sent, total int64)) error {
	p, err := openPush(path, progress)
	if err != nil {
		return err
	}
	defer p.file.Close()
	start := http.Header{headerDigest: {p.digest}}
	if slices.Contains(have, p.digest) {
		err := c.ask(ctx, http.MethodPost, "/start", start, nil, nil)
		if !errors.Is(err, &protocol.Error{Code: protocol.Conflict}) {
			return err
		}
	}
	if err := c.push(ctx, p); err != nil {
		return err
	}
	return c.ask(ctx, http.MethodPost, "/start", start, nil, nil)
}

// ask makes one short request of the loader, through whatever is before it.
func (c loader) ask(ctx context.Context, method, action string, header http.Header, body *bytes.Reader, out any) error {
	var r io.Reader = http.NoBody
	if body != nil {
		r = body
	}
	req, err := c.requestTo(ctx, c.endpoint.base, method, "/loader/v1"+action, nil, r)
	if err != nil {
		return err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := c.sendBy(c.plain, req)
	if err != nil {
		return err
	}
	if err := decode(resp, out); err != nil {
		return &transportError{endpoint: c.endpoint.text, err: err}
	}
	return nil
}

// awaitHealth bridges the moment in which the loader has answered and the
// runtime has not.
func (c *Client) awaitHealth(ctx context.Context) (protocol.Health, error) {
	for b := newBackoff(); ; {
		h, err := c.Health(ctx)
		if err == nil || !(passing(err) || errors.Is(err, &protocol.Error{Code: protocol.NotFound})) {
			return h, err
		}
		if b.Wait(ctx) != nil {
			return protocol.Health{}, fmt.Errorf("wait for the runtime: %w: %w", context.Cause(ctx), err)
		}
	}
}
