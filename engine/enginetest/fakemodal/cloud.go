// Package fakemodal is a fake Modal on loopback: its control plane and its
// command router over gRPC, image builds, sandboxes of both back ends, tunnels,
// volumes, secrets and snapshots, with faults that can be switched on. The official
// clients in Go, JavaScript and Python work with it.
//
// A sandbox is a real process tree on this computer (package container) and no
// isolation: its programs see this computer's files. A sandbox has a folder of its own. The fake
// moves some paths in commands to that folder: those below /workspace, /models, /datasets, /tmp,
// the working directory or a volume. It also moves paths that exist in that folder.
//
// No image is built: a build writes the log of one, and fails where a name begins
// with "no-such-", with `exit N` or `false`; COPY has no effect. With [Options].Install
// its pip is real, and python3 of a machine is that of its image. Functions, sidecars and
// snapshots of memory are Unimplemented, and no network is blocked.
package fakemodal

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/seer-engine/seer/internal/retry"
)

// Token is a pair of credentials, as in a profile of Modal.
type Token struct{ ID, Secret string }

// ImageConfig is what an image says of the programs that are run from it.
type ImageConfig struct {
	Env     map[string]string
	Workdir string
}

// Options make a cloud. The zero value works.
type Options struct {
	Dir                  string                                // where machines and volumes are, of which a later cloud knows nothing; default a temporary folder, removed by Close
	Token                Token                                 // default ak-seer, as-seer
	Rotated              []Token                               // further tokens of the workspace
	Workspace            string                                // its name; default seer
	Listen               string                                // of the control plane; default 127.0.0.1:0
	Python               string                                // what python3 is in a machine; default $SEER_PYTHON or python3
	Images               func(name string) (ImageConfig, bool) // what a registry has; default everything but "no-such-…", plain
	Install              bool                                  // pip of a build is run, in a virtual environment of the image
	Pace                 time.Duration                         // between two lines of a build log; default 5 ms
	StartTime            time.Duration                         // from the creation of a GPU sandbox to its task; default 20 ms
	TunnelTime           time.Duration                         // from a task to its tunnels; default none
	TokenLife            time.Duration                         // of an AuthTokenGet token, whole seconds; default 20 min
	RouterLife           time.Duration                         // of a token for the command router, whole seconds; default 1 h
	Grace                time.Duration                         // from SIGTERM to SIGKILL of what is terminated; default 2 s
	PageSize             int                                   // of a list; default 50
	MaxMachines, MaxGPUs int                                   // more at once are refused; default 100 and 10

	Rates map[string]string // answer to WorkspaceBillingRates, dollars an hour; default the published ones of 2026

	Logf func(format string, args ...any) // each call and change; default nothing
}

func (o Options) withDefaults() Options {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&o.Pace, 5*time.Millisecond)
	def(&o.StartTime, 20*time.Millisecond)
	def(&o.TokenLife, 20*time.Minute)
	def(&o.RouterLife, time.Hour)
	def(&o.Grace, 2*time.Second)
	if o.Token == (Token{}) {
		o.Token = Token{ID: "ak-seer", Secret: "as-seer"}
	}
	if o.Images == nil {
		o.Images = func(name string) (ImageConfig, bool) { return ImageConfig{}, !strings.Contains(name, missing) }
	}
	if o.Workspace == "" {
		o.Workspace = defaultWorkspace
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.PageSize == 0 {
		o.PageSize = 50
	}
	if o.MaxMachines == 0 {
		o.MaxMachines = 100
	}
	if o.MaxGPUs == 0 {
		o.MaxGPUs = 10
	}
	if o.Rates == nil {
		o.Rates = defaultRates()
	}
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	return o
}

// Cloud is a fake Modal: one workspace with one token. Its methods may be
// called from several goroutines at once.
type Cloud struct {
	opts Options
	dir  string
	temp bool
	key  []byte // signs the tokens

	certificate func() (tls.Certificate, error) // of the tunnels

	control, router *endpoint
	servers         []*grpc.Server
	stop            context.CancelFunc
	ctx             context.Context // ends with Close
	work            sync.WaitGroup  // builds and sandboxes

	faults faultState
	events eventLog

	mu        sync.Mutex // guards what follows
	envs      map[string]*environment
	apps      map[string]*app
	secrets   map[string]*secret
	volumes   map[string]*volume
	images    map[string]*image
	layers    map[string]*image // by content
	tags      map[string]string // name of a published image → ID
	sandboxes map[string]*sandbox
	tasks     map[string]*sandbox
	mounts    map[string]*mount // by name or content
	lastTime  float64
}

// New makes a cloud that nothing can reach before Start.
func New(o Options) *Cloud {
	ctx, stop := context.WithCancel(context.Background())
	c := &Cloud{opts: o.withDefaults(), ctx: ctx, stop: stop, key: []byte(randomName(32)),
		envs: map[string]*environment{}, apps: map[string]*app{}, secrets: map[string]*secret{},
		volumes: map[string]*volume{}, images: map[string]*image{}, layers: map[string]*image{},
		tags: map[string]string{}, sandboxes: map[string]*sandbox{}, tasks: map[string]*sandbox{}, mounts: map[string]*mount{}}
	c.certificate = sync.OnceValues(newCertificate)
	c.faults.settle()
	c.envs[defaultEnvironment] = newEnvironment(defaultEnvironment)
	return c
}

// Start begins to serve.
func (c *Cloud) Start() error {
	c.dir = c.opts.Dir
	if c.dir == "" {
		dir, err := os.MkdirTemp("", "fakemodal-")
		if err != nil {
			return err
		}
		c.dir, c.temp = dir, true
	}
	for _, folder := range []string{"machines", "volumes", "images", "files"} {
		if err := os.MkdirAll(filepath.Join(c.dir, folder), 0o755); err != nil {
			return err
		}
	}
	var err error
	if c.control, err = listen(c.opts.Listen, c.certificate); err != nil {
		return err
	}
	if c.router, err = listen("127.0.0.1:0", c.certificate); err != nil {
		_ = c.control.Close()
		return err
	}
	c.serve()
	return nil
}

// Close ends every machine and the servers, and removes the machines' folders.
func (c *Cloud) Close() error {
	c.stop()
	for _, s := range c.servers {
		s.Stop()
	}
	c.work.Wait()
	errs := []error{os.RemoveAll(filepath.Join(c.dir, "machines"))}
	if c.temp {
		errs = append(errs, os.RemoveAll(c.dir))
	}
	return errors.Join(errs...)
}

// URL is the value of server_url: http://127.0.0.1:PORT.
func (c *Cloud) URL() string { return "http://" + c.control.Addr().String() }

// Env are the variables that make the official clients and the command line use this
// cloud.
func (c *Cloud) Env() map[string]string {
	return map[string]string{
		"MODAL_SERVER_URL":   c.URL(),
		"MODAL_TOKEN_ID":     c.opts.Token.ID,
		"MODAL_TOKEN_SECRET": c.opts.Token.Secret,
		"MODAL_CONFIG_PATH":  filepath.Join(c.dir, "modal.toml"), // there is none: this computer's own is not read
	}
}

// routerURL has to be https even where it is not: clients insist on it.
func (c *Cloud) routerURL() string { return "https://" + c.router.Addr().String() }

// now is the time in seconds since 1970; no two calls return the same.
func (c *Cloud) now() float64 {
	t := float64(time.Now().UnixMicro()) / 1e6
	if t <= c.lastTime {
		t = c.lastTime + 1e-6
	}
	c.lastTime = t
	return t
}

// newFolder makes an empty folder of a kind.
func (c *Cloud) newFolder(kind, id string) (string, error) {
	dir := filepath.Join(c.dir, kind, id)
	return dir, os.MkdirAll(dir, 0o755)
}

func (c *Cloud) logf(format string, args ...any) { c.opts.Logf(format, args...) }

// sleep waits, and reports whether the cloud still runs.
func (c *Cloud) sleep(d time.Duration) bool {
	return retry.Sleep(c.ctx, d) == nil
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func randomName(n int) string {
	out := make([]byte, n)
	for i := range out {
		k, err := rand.Int(rand.Reader, big.NewInt(int64(len(base62))))
		if err != nil {
			panic(err) // the kernel has no randomness
		}
		out[i] = base62[k.Int64()]
	}
	return string(out)
}

// newID is prefix-<22 of base 62>, the form of most of Modal's identifiers.
func newID(prefix string) string { return prefix + "-" + randomName(22) }

// newSandboxID tells the back end: clients take any other length for the second one.
func newSandboxID(v2 bool) string {
	if v2 {
		return "sb-" + randomName(26)
	}
	return newID("sb")
}
