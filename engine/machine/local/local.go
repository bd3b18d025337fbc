// Package local is the provider of this computer: a machine is a tree of
// processes in the best isolation there is, with its own folders. It outlives the
// program that created it.
package local

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/gpulease"
	"github.com/seer-engine/seer/engine/image"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local/internal/rootfs"
	"github.com/seer-engine/seer/engine/netproxy"
	"github.com/seer-engine/seer/engine/policy"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// Name is the value of `provider:` in an experiment.
const Name = "local"

// Options are what the provider works with.
type Options struct {
	Dir          string // folder of the machines, private to the user
	RuntimeDir   string // short folder for sockets; see [state.Store.RuntimeDir]
	ArtifactsDir string // folder with the runtime's binaries; may be empty

	// Python finds the interpreter of machines; it is called when one is created.
	Python func(ctx context.Context) (isolation.Interpreter, error)

	// Cache tells what else the machine's cache gets: name there → file of this computer,
	// which is copied. What is missing costs only time. nil is nothing.
	Cache func(ctx context.Context, python isolation.Interpreter) map[string]string

	// PythonVersion finds the interpreter where the spec wants a version, 3.12; nil is
	// Python, which then must have it.
	PythonVersion func(ctx context.Context, version string) (isolation.Interpreter, error)

	GPUs      func(ctx context.Context) (isolation.GPUSet, error) // default [isolation.GPUs]
	Leases    func() (*gpulease.Folder, error)                    // where GPUs are claimed; default the folder of all users
	Policy    func() (policy.Policy, error)                       // what users may do; default [policy.Read]
	ImagesDir string                                              // cache of images; default below Dir
	Registry  image.Opener                                        // the client of registries, registry.Open; nil = no images
	Login     func(ref string) bool                               // whether an image may be fetched with the user's login; nil = every one
	// ImageFiles lets machines start from files and folders of this computer, by absolute path; see
	// [image.UnpackFile]. Code of an experiment then reads such a folder.
	ImageFiles bool
	Places     []string // where runsc is looked for first

	NetProxy []string // program of network proxies; default: the runtime's binary in ArtifactsDir, with "netproxy"
	// Watchdog is the program that ends machines whose time is over; p.Dir follows. The
	// default is the runtime's binary in ArtifactsDir, with "watchdog".
	Watchdog []string
	// Ahead is how far the clock of this computer is ahead of the one by which ends of machines
	// are set; nil is not at all.
	Ahead  func() time.Duration
	Logger hclog.Logger  // nil is silent
	Grace  time.Duration // between asking a machine to end and killing it; default 7 seconds
}

// Open makes the provider in a store, which gives it its folders.
func Open(in *state.Store, o Options) (sdk.Provider, error) {
	var err error
	if o.Dir, err = in.Dir(Name); err != nil {
		return nil, err
	}
	if o.ImagesDir, err = in.Cache("images"); err != nil {
		return nil, err
	}
	o.RuntimeDir = in.RuntimeDir()
	return New(o), nil
}

// New makes the provider. It touches nothing until it is asked to.
func New(o Options) sdk.Provider {
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	if o.Grace <= 0 {
		o.Grace = 7 * time.Second // the loader gives the runtime five
	}
	if o.GPUs == nil {
		o.GPUs = isolation.GPUs
	}
	if o.Leases == nil {
		o.Leases = sync.OnceValues(func() (*gpulease.Folder, error) { return gpulease.Open(gpulease.Options{}) })
	}
	if o.Policy == nil {
		o.Policy = policy.Read
	}
	if o.ImagesDir == "" {
		o.ImagesDir = filepath.Join(o.Dir, "images")
	}
	p := &provider{Options: o, at: func(string) {}, memoryFree: memoryFree, runtimes: binaries{dir: o.ArtifactsDir}}
	p.gpuPool = &gpuPool{Options: &p.Options}
	p.trials = trials{dir: o.Dir, places: o.Places, detectUplink: netproxy.DetectUplink}
	p.watchdog = watcher{dir: o.Dir, argv: o.Watchdog}
	if len(o.Watchdog) == 0 {
		p.watchdog.argv = p.runtimes.command("watchdog")
	}
	p.roots = rootfs.Store{ImagesDir: o.ImagesDir, SavedDir: savedDir(o.Dir), Registry: o.Registry, Login: o.Login, Files: o.ImageFiles, Lock: p.lock}
	return p
}

type provider struct {
	Options
	at func(step string) // tests die here

	memoryFree func() (int64, error) // of this computer, in bytes

	trials   trials
	runtimes binaries
	watchdog watcher
	roots    rootfs.Store
	*gpuPool

	sharesOpen bool // tests of attacks: network open is network host
}

// Offers has one entry: this computer, for nothing; or one for each of its GPUs that
// was asked for.
func (p *provider) Offers(ctx context.Context, q sdk.OfferQuery) ([]sdk.Offer, error) {
	if q.GPU != "" {
		return p.gpuPool.offers(ctx, q)
	}
	return []sdk.Offer{{ID: Name, Region: runtime.GOOS + "/" + runtime.GOARCH, Stock: "high"}}, nil
}

// handleOf gives every key one handle, so that a key can have one machine only.
func handleOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "m" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:12]
}

func validHandle(h string) bool {
	return len(h) == 13 && h[0] == 'm' && strings.Trim(h, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// folder is where everything of one machine is.
func (p *provider) folder(handle string) folder {
	root := filepath.Join(p.Dir, handle)
	return folder{note: root + ".json", root: root, socketDir: filepath.Join(p.RuntimeDir, handle)}
}

// lock excludes everybody else from one machine.
func (p *provider) lock(ctx context.Context, handle string) (*state.Lock, error) {
	dir := filepath.Join(p.Dir, "locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the local provider: %w", err)
	}
	return state.Acquire(ctx, p.lockPath(handle))
}

func (p *provider) lockPath(handle string) string { return filepath.Join(p.Dir, "locks", handle) }
