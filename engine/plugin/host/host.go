// Package host runs plugins: Wasm modules that implement the contracts of
// package sdk. It finds them in folders, tells what they are without running
// them, and gives adapters that look like native implementations.
//
// A plugin is not trusted. It gets its input, real time and real randomness, a
// bounded amount of memory, time, log and output, and nothing else: no
// environment, no files, no network. The host does the other things that the manifest asks for:
// this package opens folders, and package egress sends requests with credentials. The host discards
// an instance that failed, so that a broken plugin harms neither later calls nor other plugins.
package host

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	extism "github.com/extism/go-sdk"
	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/engine/plugin/host/egress"
	"github.com/seer-engine/seer/sdk"
)

// Options configure a [Host].
type Options struct {
	Dirs     []string            // searched first, in order; one that is missing from the beginning is an error
	Optional []string            // searched then; those that are missing are passed over
	Broken   map[string]error    // plugins, by id, that are meant to be used and cannot be: no other of that id is
	CacheDir string              // for compiled code and digests; private to the user
	Logger   hclog.Logger        // nil = discard
	Limits   Limits              // zero fields take the defaults
	Remember bool                // keep surfaces in CacheDir, so that an unchanged interface needs no plugin
	Scrub    func(string) string // takes further secrets out of logs and error texts; nil = none known

	// Env looks up the variables of plugins' settings and secrets in the environment;
	// where says in which, for people. nil = there are none. SecretEnv is asked for
	// secrets after that, such as in a .env file; see [egress.Options].
	Env, SecretEnv func(name string) (value, where string, ok bool)

	Home  string      // folder of the profiles that plugins name by ~/; "" = there are none
	Audit func(Audit) // is told of every request of a plugin when it has ended; nil = nobody. Calls may overlap

	// Access says what a plugin may do: each time that one is looked up, and before each
	// call, so that what is taken back ends at once. It is asked only about plugins that
	// ask for anything. The error is why it may not run, mostly [ErrNotGranted]. nil =
	// nobody has granted anything; [GrantAll] allows what is asked for.
	Access func(context.Context, Plugin) (Grant, error)

	Version   string            // of this program, to tell a plugin that needs a newer one; "" = unknown
	Transport http.RoundTripper // makes HTTP requests in place of the network, after all checks; nil = the network

	SSH      SSH      // runs commands on hosts for plugins; nil = none can be reached
	SSHHosts SSHHosts // remembers on which hosts a plugin has run something; nil = nothing does

	Kube         Kube         // reaches clusters for plugins; nil = none can be reached
	KubeContexts KubeContexts // remembers in which namespaces a plugin has made something; nil = nothing does

	// Answer is told what a plugin has answered to an export, as it came: unknown fields
	// are in it. It is for the conformance kit. nil = nobody. Calls may overlap.
	Answer func(p Plugin, export string, answer json.RawMessage)
}

// Host finds and runs plugins. It is safe for concurrent use.
type Host struct {
	dirs     []dir
	cacheDir string
	log      hclog.Logger
	limits   Limits
	access   func(context.Context, Plugin) (Grant, error)
	answer   func(Plugin, string, json.RawMessage)
	scrub    func(string) string
	outside  egress.Options // but the manifest
	scanner  scanner
	broken   map[string]error
	digests  digestCache
	surfaces notes // of expose modes; empty = none are kept
	anyFile  bool  // for tests: a surface may have files of any name

	mu      sync.Mutex
	uses    int64                 // of modules, so far
	loaded  map[string]*loading   // by file, digest and grant
	retired map[*loading]struct{} // in use, though not in loaded any more
	closed  bool

	anyCode bool // for tests of attacks only: modules and answers are not limited before they are compiled and read
}

// Plugin is what can be told about a plugin without running it.
type Plugin struct {
	Manifest sdk.Manifest `json:"manifest"`
	File     string       `json:"file"`   // the .wasm
	Digest   string       `json:"digest"` // "sha256:" + hex of the .wasm

	Snapshots bool `json:"snapshots,omitempty"` // a provider that exports [sdk.ExportProviderSnapshot]
	Accounts  bool `json:"accounts,omitempty"`  // a provider that exports [sdk.ExportProviderAccount]
	Routes    bool `json:"routes,omitempty"`    // a provider that exports [sdk.ExportProviderRoute]
	Checks    bool `json:"checks,omitempty"`    // a provider that exports [sdk.ExportProviderCheck]
	Cleans    bool `json:"cleans,omitempty"`    // a provider that exports [sdk.ExportProviderClean]

	Access access.Set `json:"access"`          // what it asks for; where that is nothing it needs no grant
	Hash   string     `json:"permissions"`     // the permission hash: of Access
	Grant  *Grant     `json:"grant,omitempty"` // what it has, as [Host.Plugins] tells; nil = no grant, or no need of one
}

// New makes a host. It reads no plugin yet.
func New(o Options) (*Host, error) {
	if o.CacheDir == "" {
		return nil, errors.New("host: Options.CacheDir is empty; name a private folder for compiled plugins")
	}
	cache, err := filepath.Abs(o.CacheDir)
	if err != nil {
		return nil, err
	}
	h := &Host{
		cacheDir: cache,
		log:      o.Logger,
		limits:   o.Limits.withDefaults(),
		broken:   o.Broken,
		access:   o.Access,
		answer:   o.Answer,
		scrub:    o.Scrub,
		loaded:   map[string]*loading{},
		retired:  map[*loading]struct{}{},
		outside: egress.Options{Env: o.Env, SecretEnv: o.SecretEnv, Home: o.Home, Audit: o.Audit, Transport: o.Transport,
			SSH: o.SSH, SSHHosts: o.SSHHosts, Kube: o.Kube, KubeContexts: o.KubeContexts},
	}
	h.outside.Limits.ResponseMB = h.limits.ResponseMB
	h.digests.dir = filepath.Join(cache, "digests")
	h.scanner.notes.dir = filepath.Join(cache, "plugins")
	h.scanner.version = o.Version
	if o.Remember {
		h.surfaces.dir = filepath.Join(cache, "surfaces")
	}
	if h.log == nil {
		h.log = hclog.NewNullLogger()
	}
	if h.scrub == nil {
		h.scrub = func(s string) string { return s }
	}
	for _, list := range []struct {
		paths    []string
		optional bool
	}{{o.Dirs, false}, {o.Optional, true}} {
		for _, p := range list.paths {
			abs, err := filepath.Abs(p)
			if err != nil {
				return nil, err
			}
			h.dirs = append(h.dirs, dir{abs, list.optional})
		}
	}
	// Extism drops all guest logs unless this process-wide level is set; what is
	// shown is then the logger's own level. At trace level it would also tell about
	// the guest's language, on stderr, before a plugin has its logger.
	extism.SetLogLevel(extism.LogLevelDebug)
	return h, nil
}

// Plugins lists what the folders hold, in order of search, what each asks for and how
// it is granted, and what is wrong with the rest. It runs and compiles nothing.
func (h *Host) Plugins(ctx context.Context) ([]Plugin, []error) {
	plugins, errs := h.scan(ctx)
	for i, p := range plugins {
		if g, err := h.granted(ctx, p); err == nil && len(p.Access) > 0 {
			plugins[i].Grant = &g
		}
	}
	return plugins, errs
}

func (h *Host) scan(ctx context.Context) ([]Plugin, []error) {
	found := h.scanner.scan(ctx, h.dirs, h.limits, h.broken)
	var plugins []Plugin
	var errs []error
	for _, f := range found {
		if f.err != nil {
			errs = append(errs, f.err)
		} else {
			plugins = append(plugins, f.plugin)
		}
	}
	return plugins, errs
}

// Provider returns the provider of that name, or an error of the code not_found
// that lists those there are. It is an [sdk.Snapshotter] if the plugin is one.
func (h *Host) Provider(ctx context.Context, name string) (sdk.Provider, error) {
	p, err := h.find(ctx, sdk.KindProvider, name)
	if err != nil {
		return nil, err
	}
	native := provider{caller{host: h, plugin: p}}
	if p.Snapshots {
		return &snapshotter{native}, nil
	}
	return &native, nil
}

// Fetcher returns the fetcher for a model source. It may read below the granted
// folders (absolute paths), if its manifest asks for that, and nowhere else.
func (h *Host) Fetcher(ctx context.Context, source string, grantFolders ...string) (sdk.Fetcher, error) {
	p, err := h.find(ctx, sdk.KindFetcher, source)
	if err != nil {
		return nil, err
	}
	return &fetcher{caller{host: h, plugin: p, folders: grantFolders}}, nil
}

// Exposer returns the expose mode of that name.
func (h *Host) Exposer(ctx context.Context, name string) (sdk.Exposer, error) {
	p, err := h.find(ctx, sdk.KindExpose, name)
	if err != nil {
		return nil, err
	}
	return &exposer{caller{host: h, plugin: p}}, nil
}

// Compile prepares a plugin for its first call, which otherwise does it. The
// result stays in the cache for later processes. It needs no grant: nothing runs.
func (h *Host) Compile(ctx context.Context, p Plugin) error {
	g, err := h.granted(ctx, p)
	if err != nil {
		g = Grant{}
	}
	l, err := h.load(ctx, p, g)
	if err == nil {
		h.release(ctx, l)
	}
	return err
}

// Compiled reports whether a plugin's machine code is in the cache. If not, its
// first call takes seconds instead of milliseconds.
func (h *Host) Compiled(p Plugin) bool {
	_, err := os.Stat(filepath.Join(h.codeDir(p), sealFile))
	return err == nil
}

func (h *Host) codeDir(p Plugin) string {
	return filepath.Join(h.cacheDir, "wasm", strings.TrimPrefix(p.Digest, "sha256:"))
}

// Close ends all instances. Calls in progress fail.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	all := slices.AppendSeq(slices.Collect(maps.Values(h.loaded)), maps.Keys(h.retired))
	h.loaded = nil
	h.mu.Unlock()
	var errs []error
	for _, l := range all {
		errs = append(errs, l.close(ctx))
	}
	return errors.Join(errs...)
}
