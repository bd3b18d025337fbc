package host

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/seer-engine/seer/engine/plainfile"
	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/engine/plugin/host/egress"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/wasmfile"
)

// maxModule is what the file of a module may have. More is none.
const maxModule = 256 << 20

// module is a compiled plugin and its instances.
type module struct {
	plugin   Plugin
	manifest sdk.Manifest // what is left of the plugin's under its grant
	limits   Limits
	compiled *extism.CompiledPlugin
	cache    wazero.CompilationCache
	gateway  *egress.Gateway
	log      *logSink
	slots    chan struct{} // one for each instance that may run

	anyAnswer bool // of any number of objects; see Host.anyCode

	mu     sync.Mutex
	all    map[*instance]struct{}
	idle   []*instance
	closed bool
}

// compile makes machine code of a plugin, or takes it from the cache.
func (h *Host) compile(ctx context.Context, p Plugin, g Grant) (*module, error) {
	code, err := plainfile.ReadNamed(p.File, maxModule)
	if err != nil {
		return nil, fault(FaultCorrupt, p, "cannot be read: %w", err)
	}
	if digestOf(code) != p.Digest {
		return nil, fault(FaultCorrupt, p, "changed while it was being read; try again")
	}
	manifest := access.Limit(p.Manifest, g.Lines)
	limits := h.limits.asked(manifest.Limits)
	gateway := h.gateway(p, g)
	m := &module{plugin: p, manifest: manifest, limits: limits, gateway: gateway, slots: make(chan struct{}, limits.Instances), all: map[*instance]struct{}{},
		log: &logSink{log: h.log.Named(p.Manifest.ID), scrub: func(s string) string { return h.scrub(gateway.Scrub(s)) }}}
	m.anyAnswer = h.anyCode
	cache, err := h.openCache(p)
	if err != nil {
		return nil, err
	}
	defer cache.unlock()
	if cache.good == "" && !h.anyCode { // what is there was compiled from a module that passed
		if err := wasmfile.LimitFunctions(code, mostComplex(), maxWork); err != nil {
			return nil, fault(FaultCorrupt, p, "cannot be compiled: %w", err)
		}
	}
	// In the memory of what was read: a module has megabytes.
	if code, err = wasmfile.LimitTables(code, maxTable); err != nil {
		return nil, fault(FaultCorrupt, p, "cannot be compiled: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, limits.CompileTime)
	defer cancel()
	m.compiled, m.cache, err = h.compileWith(ctx, cache, code, limits)
	if ctx.Err() != nil {
		return nil, fault(FaultTime, p, "compiling it took longer than %v and was given up", limits.CompileTime)
	}
	if err != nil {
		// Bad cache entries and a full disk look the same from here: without the
		// cache it either works, slowly, or the plugin itself is bad.
		h.log.Warn("cannot use the cache of compiled plugins", "plugin", p.Manifest.ID, "folder", cache.dir, "error", firstLine(err))
		cache.clear()
		if m.compiled, m.cache, err = h.compileWith(ctx, nil, code, limits); err != nil {
			return nil, fault(FaultCorrupt, p, "cannot be compiled: %s", firstLine(err))
		}
		return m, nil
	}
	if err := cache.seal(); err != nil {
		h.log.Warn("cannot complete the cache of compiled plugins", "plugin", p.Manifest.ID, "folder", cache.dir, "error", err)
	}
	return m, nil
}

// compileWith compiles with a cache on disk, or only in memory if it is nil.
func (h *Host) compileWith(ctx context.Context, on *diskCache, code []byte, limits Limits) (*extism.CompiledPlugin, wazero.CompilationCache, error) {
	cache := wazero.NewCompilationCache()
	if on != nil {
		var err error
		if cache, err = wazero.NewCompilationCacheWithDir(on.dir); err != nil {
			return nil, nil, err
		}
	}
	config := extism.PluginConfig{
		EnableWasi: true,
		RuntimeConfig: wazero.NewRuntimeConfig().
			WithCompilationCache(cache).
			WithCloseOnContextDone(true).
			WithMemoryLimitPages(uint32(limits.MemoryMB * pagesPerMB)),
	}
	manifest := extism.Manifest{
		Wasm: []extism.Wasm{extism.WasmData{Data: code}},
		// No hosts, no paths; nothing to keep between calls.
		Memory: &extism.ManifestMemory{MaxHttpResponseBytes: 0, MaxVarBytes: 0},
	}
	// One alone would not look at ctx. What each may take of memory is in limits.go.
	ctx = experimental.WithCompilationWorkers(ctx, min(max(runtime.GOMAXPROCS(0), 2), 8))
	compiled, err := extism.NewCompiledPlugin(ctx, manifest, config, h.functions())
	if err != nil {
		return nil, nil, errors.Join(err, cache.Close(ctx))
	}
	return compiled, cache, nil
}

// instance is one run-time copy of a module. It serves one call at a time.
type instance struct {
	plugin *extism.Plugin
	memory *memory
	log    *callLog
	ended  atomic.Bool     // the guest exited, trapped or was stopped
	ctx    context.Context // of the present call

	// folders are those that it could read. What it has kept of them must not come out in
	// a call that may not read them.
	folders string
}

// sleep is the guest's sleep. The system's own would outlast the call's end: wazero
// stops a guest between its instructions only.
func (i *instance) sleep(ns int64) {
	t := time.NewTimer(time.Duration(ns))
	defer t.Stop()
	i.memory.release()
	defer i.memory.hold()
	select {
	case <-t.C:
	case <-i.ctx.Done():
	}
}

func (m *module) instantiate(ctx context.Context) (*instance, error) {
	inst := &instance{log: &callLog{sink: m.log}, ctx: ctx, memory: &memory{}}
	inst.memory.hold()
	defer inst.memory.release()
	ctx = experimental.WithMemoryAllocator(ctx, inst.memory)
	ctx = experimental.WithCloseNotifier(ctx,
		experimental.CloseNotifyFunc(func(context.Context, uint32) { inst.ended.Store(true) }))
	// Never wazero's default: its clock stands still and its randomness repeats.
	config := wazero.NewModuleConfig().
		WithSysWalltime().WithSysNanotime().WithNanosleep(inst.sleep).
		WithRandSource(rand.Reader).
		WithStdout(inst.log).WithStderr(inst.log)
	var err error
	inst.plugin, err = m.compiled.Instance(ctx, extism.PluginInstanceConfig{ModuleConfig: config})
	if err != nil {
		return nil, err
	}
	inst.plugin.SetLogger(inst.log.extism)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all[inst] = struct{}{}
	return inst, nil
}

// take waits for a turn and gives an instance, used before or new.
func (m *module) take(ctx context.Context, folders string) (*instance, error) {
	select {
	case m.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		<-m.slots
		return nil, fault(FaultClosed, m.plugin, "the plugin host has been closed")
	}
	inst, foreign := m.idleFor(folders)
	m.mu.Unlock()
	if foreign != nil {
		m.discard(ctx, foreign)
	}
	if inst != nil {
		inst.folders = folders
		return inst, nil
	}
	// A module may run code of its own while it is made. It outlives this context, which
	// nothing keeps.
	start, cancel := context.WithTimeout(ctx, m.limits.CallTime)
	defer cancel()
	inst, err := m.instantiate(start)
	if err == nil {
		inst.folders = folders
		return inst, nil
	}
	<-m.slots
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case start.Err() != nil:
		return nil, fault(FaultTime, m.plugin, "its start took longer than %v and was stopped", m.limits.CallTime)
	default:
		return nil, fault(FaultCorrupt, m.plugin, "cannot be started: %s", firstLine(err))
	}
}

// give returns an instance. One that failed is thrown away: nobody knows what
// state it is in.
func (m *module) give(ctx context.Context, inst *instance, healthy bool) {
	defer func() { <-m.slots }()
	if healthy && !inst.ended.Load() {
		m.mu.Lock()
		keep := !m.closed
		if keep {
			m.idle = append(m.idle, inst)
		}
		m.mu.Unlock()
		if keep {
			return
		}
	}
	m.discard(ctx, inst)
}

func (m *module) discard(ctx context.Context, inst *instance) {
	m.mu.Lock()
	delete(m.all, inst)
	m.mu.Unlock()
	_ = inst.plugin.CloseWithContext(context.WithoutCancel(ctx)) // it is gone either way
}

// idleFor gives an instance that has not seen other folders than those of the call. Where
// there are only such, one of them is to make room for a new one.
func (m *module) idleFor(folders string) (inst, foreign *instance) {
	for i := len(m.idle) - 1; i >= 0; i-- {
		if have := m.idle[i].folders; have == "" || have == folders {
			inst = m.idle[i]
			m.idle = slices.Delete(m.idle, i, i+1)
			return inst, nil
		}
	}
	if len(m.idle) == 0 {
		return nil, nil
	}
	foreign = m.idle[0]
	m.idle = slices.Delete(m.idle, 0, 1)
	return nil, foreign
}

// instances are all that live, at work or not.
func (m *module) instances() []*instance {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.all))
}

// close ends all instances, also those at work.
func (m *module) close(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	m.idle = nil
	clear(m.all)
	m.mu.Unlock()
	m.gateway.Close()
	return errors.Join(m.compiled.Close(ctx), m.cache.Close(ctx))
}
