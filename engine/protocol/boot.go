package protocol

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
)

// LoaderInfo is what a machine's loader says about itself.
type LoaderInfo struct {
	Loader  int      `json:"loader"`  // version of the conversation
	Arch    string   `json:"arch"`    // as uname -m says: x86_64, aarch64, arm64
	System  string   `json:"system"`  // as uname -s says: Linux, Darwin
	Have    []string `json:"have"`    // digests of the runtimes in its cache
	Started bool     `json:"started"` // the runtime runs already, and answers this itself
}

// BootOptions say how to start the runtime of a machine.
type BootOptions struct {
	// Binary returns the path of the runtime for a system and architecture in
	// Go's names, such as linux and arm64.
	Binary func(goos, goarch string) (path string, err error)

	// Progress, where set, is told how many bytes of the runtime have been sent.
	// It is not called when the machine has the runtime in its cache.
	Progress func(sent, total int64)
}

// Boot waits until the machine answers, starts the runtime on it and returns
// its health. A machine whose runtime runs already is left as it is. Only ctx
// limits how long it waits.
func (c *Client) Boot(ctx context.Context, o BootOptions) (Health, error) {
	for b := (backoff{}); ; {
		err := c.boot(ctx, o)
		if err == nil {
			return c.awaitHealth(ctx)
		}
		// A tunnel answers "not found" until it knows the machine; the loader never does.
		if !passing(err) && CodeOf(err) != NotFound {
			return Health{}, err
		}
		if b.wait(ctx) != nil {
			return Health{}, fmt.Errorf("boot the sandbox: %w: %w", context.Cause(ctx), err)
		}
	}
}

func (c *Client) boot(ctx context.Context, o BootOptions) error {
	var info LoaderInfo
	if err := c.json(ctx, http.MethodGet, "/loader/v1", nil, nil, &info); err != nil {
		return err
	}
	if info.Started {
		return nil
	}
	goos, goarch, err := info.platform()
	if err != nil {
		return err
	}
	path, err := o.Binary(goos, goarch)
	if err != nil {
		return err
	}
	return c.startRuntime(ctx, path, info.Have, o.Progress)
}

func (i LoaderInfo) platform() (goos, goarch string, err error) {
	goos = map[string]string{"Linux": "linux", "Darwin": "darwin"}[i.System]
	goarch = map[string]string{"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}[i.Arch]
	if goos == "" || goarch == "" {
		return "", "", Errorf(Unsupported, "the machine is %s on %s; the runtime needs Linux or macOS on x86_64 or arm64", i.System, i.Arch)
	}
	return goos, goarch, nil
}

// startRuntime offers the digest first where the machine has the binary.
func (c *Client) startRuntime(ctx context.Context, path string, have []string, progress func(sent, total int64)) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open the runtime: %w", err)
	}
	defer f.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	if err != nil {
		return fmt.Errorf("read the runtime %s: %w", path, err)
	}
	digest := hex.EncodeToString(sum.Sum(nil))
	if slices.Contains(have, digest) {
		err := c.postStart(ctx, digest, http.NoBody, 0)
		if !errors.Is(err, &Error{Code: Conflict}) {
			return err
		}
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return c.postStart(ctx, digest, &progressReader{r: f, total: size, report: progress}, size)
}

func (c *Client) postStart(ctx context.Context, digest string, body io.Reader, size int64) error {
	req, err := c.request(ctx, http.MethodPost, "/loader/v1/start", nil, body)
	if err != nil {
		return err
	}
	req.ContentLength = size
	req.Header.Set("X-Seer-Sha256", digest)
	resp, err := c.send(req)
	if err != nil {
		return err
	}
	drain(resp.Body)
	return nil
}

// awaitHealth bridges the moment in which the loader has answered and the
// runtime has not.
func (c *Client) awaitHealth(ctx context.Context) (Health, error) {
	for b := (backoff{}); ; {
		h, err := c.Health(ctx)
		if err == nil || !(passing(err) || errors.Is(err, &Error{Code: NotFound})) {
			return h, err
		}
		if b.wait(ctx) != nil {
			return Health{}, fmt.Errorf("wait for the runtime: %w: %w", context.Cause(ctx), err)
		}
	}
}

type progressReader struct {
	r           io.Reader
	sent, total int64
	report      func(sent, total int64)
}

func (p *progressReader) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.sent += int64(n)
	if p.report != nil && n > 0 {
		p.report(p.sent, p.total)
	}
	return n, err
}
