package ssh

import (
	"compress/gzip"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/state"
)

//go:embed program.sh
var findScript string

//go:embed bring.sh
var bringScript string

// systems are what `uname -sm` says of the hosts that there are programs for.
var systems = map[string]string{
	"Linux x86_64": "linux-amd64", "Linux aarch64": "linux-arm64", "Linux arm64": "linux-arm64",
	"Darwin arm64": "darwin-arm64", "Darwin x86_64": "darwin-amd64",
}

// Program brings Seer's program to a host, once for each version of it, and returns its path
// there: in ~/.cache/seer/host, or in /var/tmp/seer-UID/host where that cannot hold
// programs. Versions that nobody has used for 30 days are removed. What is under way goes on
// when ctx ends: over a slow line, it is there for a later call.
func (c *Client) Program(ctx context.Context, host string) (string, error) {
	if err := checkHost(host); err != nil {
		return "", err
	}
	digests, files, err := c.programs()
	if err != nil {
		return "", errorf(host, Unusable, "%v", err)
	}
	h := c.host(host)
	h.mu.Lock()
	p := h.program
	if p == nil || p.failed() || !slices.Equal(p.digests, digests) {
		p = &program{digests: digests, done: make(chan struct{})}
		h.program = p
		go func() {
			defer close(p.done)
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bringLimit)
			defer cancel()
			p.path, p.err = c.provide(ctx, host, digests, files)
		}()
	}
	h.mu.Unlock()
	select {
	case <-p.done:
		return p.path, p.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// bringLimit is how long a program may be on its way.
const bringLimit = 10 * time.Minute

// program is that of a host, or on its way there.
type program struct {
	digests []string // of the programs here
	done    chan struct{}
	path    string // valid when done, as err
	err     error
}

func (p *program) failed() bool {
	select {
	case <-p.done:
		return p.err != nil
	default:
		return false
	}
}

// provide finds Seer's program on a host, or brings it there.
func (c *Client) provide(ctx context.Context, host string, digests []string, files map[string]string) (string, error) {
	said, err := c.script(ctx, host, findScript, nil, digests...)
	if err != nil {
		return "", err
	}
	if rest, ok := strings.CutPrefix(said, "bring "); ok {
		system, dir, _ := strings.Cut(rest, "=")
		if said, err = c.bring(ctx, host, dir, system, digests, files); err != nil {
			return "", err
		}
	}
	path, ok := strings.CutPrefix(said, "found ")
	if !ok || !strings.HasPrefix(path, "/") {
		return "", errorf(host, Unusable, "bring Seer's program there: %s", strings.TrimPrefix(said, "fail "))
	}
	return path, nil
}

func (c *Client) forgetProgram(host string) {
	h := c.host(host)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.program = nil
}

// programs are those of this computer: "Linux x86_64=SHA256", and the file for each system.
func (c *Client) programs() (digests []string, files map[string]string, err error) {
	files = map[string]string{}
	for system, name := range systems {
		file := filepath.Join(c.o.Artifacts, "seer-runtime-"+name)
		digest, err := c.digest(file)
		if err != nil {
			continue
		}
		files[system] = file
		digests = append(digests, system+"="+digest)
	}
	if len(files) == 0 {
		return nil, nil, fmt.Errorf("there are no programs for hosts in %s; build them with make runtime, or say where they are with SEER_ARTIFACTS_DIR", c.o.Artifacts)
	}
	slices.Sort(digests)
	return digests, files, nil
}

// script runs one of the scripts of this package, and returns the last line that it says.
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

// bring sends the program for a system to a folder of the host.
func (c *Client) bring(ctx context.Context, host, dir, system string, digests []string, files map[string]string) (string, error) {
	digest := ""
	for _, pair := range digests {
		if rest, ok := strings.CutPrefix(pair, system+"="); ok {
			digest = rest
		}
	}
	file, err := os.Open(files[system])
	if err != nil {
		return "", errorf(host, Unusable, "%v", err)
	}
	defer file.Close()
	packed, in := io.Pipe()
	defer packed.Close()
	go func() {
		zip, _ := gzip.NewWriterLevel(in, gzip.BestSpeed)
		_, err := io.Copy(zip, file)
		if err == nil {
			err = zip.Close()
		}
		in.CloseWithError(err)
	}()
	return c.script(ctx, host, bringScript, packed, dir, digest)
}

// fileID tells a file from one that has taken its place.
type fileID struct {
	path    string
	size    int64
	changed int64
}

func (c *Client) digest(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	id := fileID{file, info.Size(), info.ModTime().UnixNano()}
	if known, ok := c.sums.Load(id); ok {
		return known.(string), nil
	}
	digest, err := state.Digest(file)
	if err != nil {
		return "", err
	}
	c.sums.Store(id, digest)
	return digest, nil
}
