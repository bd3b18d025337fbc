// Package bring brings seer-runtime from this computer to others, by whatever runs a script there.
package bring

import (
	"compress/gzip"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/state"
)

//go:embed bring.sh
var bringScript string

//go:embed choose.sh
var chooseScript string

// systems are what `uname -sm` says where there are programs for.
var systems = map[string]string{
	"Linux x86_64": "linux-amd64", "Linux aarch64": "linux-arm64", "Linux arm64": "linux-arm64",
	"Darwin arm64": "darwin-arm64", "Darwin x86_64": "darwin-amd64",
}

// Programs are seer-runtime for other computers, in a folder of this one. It is safe for
// concurrent use.
type Programs struct {
	Dir string // with seer-runtime-OS-ARCH

	sums sync.Map // fileID → SHA-256
}

// Run runs a script of a POSIX shell there, and returns the last line that it says.
type Run func(ctx context.Context, script string, stdin io.Reader, args ...string) (string, error)

// Failed is the error of a place that cannot have the program.
type Failed struct{ Why string }

func (e *Failed) Error() string { return "bring Seer's program there: " + e.Why }

// limit is how long a program may be on its way.
const limit = 10 * time.Minute

// Place is another computer, and the program there. The zero Place is one where nobody has looked.
// It is safe for concurrent use.
type Place struct {
	mu  sync.Mutex
	now *journey
}

// journey is that of a program.
type journey struct {
	digests []string // of the programs here
	done    chan struct{}
	path    string // valid when done, as err
	err     error
}

func (j *journey) failed() bool {
	select {
	case <-j.done:
		return j.err != nil
	default:
		return false
	}
}

// Path is where the program is, once it is there. Calls at the same time wait for the same
// transfer, which goes on when ctx ends: over a slow line, the program is there for a later call.
//
// find is a script that looks for the program, behind choose.sh. Its arguments are args. Its last
// line is found PATH, bring SYSTEM=FOLDER, or fail WHY.
func (p *Place) Path(ctx context.Context, of *Programs, run Run, find string, args ...string) (string, error) {
	digests, files, err := of.all()
	if err != nil {
		return "", err
	}
	p.mu.Lock()
	j := p.now
	if j == nil || j.failed() || !slices.Equal(j.digests, digests) {
		j = &journey{digests: digests, done: make(chan struct{})}
		p.now = j
		go func() {
			defer close(j.done)
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
			defer cancel()
			j.path, j.err = provide(ctx, run, find, args, files, digests)
		}()
	}
	p.mu.Unlock()
	select {
	case <-j.done:
		return j.path, j.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Forget has the next one look again: the program may be gone.
func (p *Place) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = nil
}

func provide(ctx context.Context, run Run, find string, args []string, files map[string]string, digests []string) (string, error) {
	said, err := run(ctx, chooseScript+find, nil, slices.Concat(digests, []string{"--"}, args)...)
	if err != nil {
		return "", err
	}
	if rest, ok := strings.CutPrefix(said, "bring "); ok {
		system, dir, _ := strings.Cut(rest, "=")
		if said, err = send(ctx, run, dir, system, files[system], digests); err != nil {
			return "", err
		}
	}
	path, ok := strings.CutPrefix(said, "found ")
	if !ok || !strings.HasPrefix(path, "/") {
		return "", &Failed{strings.TrimPrefix(said, "fail ")}
	}
	return path, nil
}

// send sends the program for a system to a folder.
func send(ctx context.Context, run Run, dir, system, path string, digests []string) (string, error) {
	digest := ""
	for _, pair := range digests {
		if rest, ok := strings.CutPrefix(pair, system+"="); ok {
			digest = rest
		}
	}
	file, err := os.Open(path)
	if err != nil {
		return "", &Failed{err.Error()}
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
	return run(ctx, bringScript, packed, dir, digest)
}

// all are the programs of this computer: "Linux x86_64=SHA256", and the file for each system.
func (p *Programs) all() (digests []string, files map[string]string, err error) {
	files = map[string]string{}
	for system, name := range systems {
		file := filepath.Join(p.Dir, "seer-runtime-"+name)
		digest, err := p.digest(file)
		if err != nil {
			continue
		}
		files[system] = file
		digests = append(digests, system+"="+digest)
	}
	if len(files) == 0 {
		return nil, nil, &Failed{fmt.Sprintf("there are no programs in %s; build them with make runtime, or say where they are with SEER_ARTIFACTS_DIR", p.Dir)}
	}
	slices.Sort(digests)
	return digests, files, nil
}

// fileID tells a file from one that has taken its place.
type fileID struct {
	path    string
	size    int64
	changed int64
}

func (p *Programs) digest(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	id := fileID{file, info.Size(), info.ModTime().UnixNano()}
	if known, ok := p.sums.Load(id); ok {
		return known.(string), nil
	}
	digest, err := state.Digest(file)
	if err != nil {
		return "", err
	}
	p.sums.Store(id, digest)
	return digest, nil
}

// AsFailed reports whether a place cannot have the program, and why.
func AsFailed(err error) (*Failed, bool) {
	var failed *Failed
	return failed, errors.As(err, &failed)
}
