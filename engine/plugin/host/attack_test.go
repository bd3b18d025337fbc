package host_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/sdk"
)

// sized is a section, or a function, with its length before it.
func sized(body ...byte) []byte {
	return append(binary.AppendUvarint(nil, uint64(len(body))), body...)
}

// bomb is a small module whose only function takes a compiler long: times this, with so
// many locals. Each part gets a local that it works on.
func bomb(locals, times int, part func(local []byte) []byte) []byte {
	body := append(append([]byte{1}, binary.AppendUvarint(nil, uint64(locals))...), 0x7f)
	for i := range times {
		body = append(body, part(binary.AppendUvarint(nil, uint64(i%locals)))...)
	}
	body = append(body, 0x0b)
	code := append([]byte{1}, sized(body...)...)
	return module(shoutManifest, join(types, function, exported, append([]byte{10}, sized(code...)...))...)
}

// branching are the instructions of a block or loop that adds to a local and may go back.
func branching(kind byte) func([]byte) []byte {
	return func(local []byte) []byte {
		return join([]byte{kind, 0x40, 0x20}, local, []byte{0x20, 0, 0x6a, 0x21}, local, []byte{0x20, 0, 0x0d, 0, 0x0b})
	}
}

// leaving is a block with branches out of it.
func leaving(branches int) func([]byte) []byte {
	block := join([]byte{0x02, 0x40}, bytes.Repeat([]byte{0x20, 0, 0x0d, 0}, branches), []byte{0x0b})
	return func([]byte) []byte { return block }
}

// jump is a table of 500 branches.
func jump([]byte) []byte {
	return join([]byte{0x02, 0x40, 0x20, 0, 0x0e}, binary.AppendUvarint(nil, 500), bytes.Repeat([]byte{0}, 501), []byte{0x0b})
}

// compiles puts a module into a host and reports why it is not compiled.
func compiles(code []byte) func(*testing.T, bool) error {
	return func(t *testing.T, defended bool) error {
		dir := t.TempDir()
		write(t, dir, "expose-shout.wasm", code)
		h := open(t, host.Options{Dirs: []string{dir}, CacheDir: t.TempDir()})
		if !defended {
			h.Unbounded()
		}
		_, err := expose(t, h, "shout", "")
		var e *host.Error
		if !errors.As(err, &e) {
			t.Fatalf("error %v", err)
		}
		if e.Fault == host.FaultOutput { // it ran, and answered nothing
			return nil
		}
		return err
	}
}

// answers lets the rogue plugin answer with a surface and reports how that is refused,
// unless it was read as a whole.
func answers(surface string) func(*testing.T, bool) error {
	return func(t *testing.T, defended bool) error {
		h := open(t, host.Options{Dirs: []string{guests(t, "rogue")}})
		if !defended {
			h.Unbounded()
		}
		_, err := expose(t, h, "rogue", surface)
		if err != nil && strings.Contains(err.Error(), "its surface has") { // each file was made in memory
			return nil
		}
		return err
	}
}

func TestAttacksOfPlugins(t *testing.T) {
	attack.Run(t, []attack.Row{
		{Name: "plugin-of-many-loops", Want: "loops, where 512 are allowed", Try: compiles(bomb(10, 513, branching(0x03)))},
		{Name: "plugin-of-many-branches", Want: "branches, where 16384 are allowed", Try: compiles(bomb(1, 41, leaving(400)))},
		{Name: "plugin-of-large-branch-tables", Want: "branches, where 16384 are allowed", Try: compiles(bomb(1, 33, jump))},
		{Name: "plugin-of-many-locals", Want: "locals, where 5000 are allowed", Try: compiles(bomb(5001, 1, branching(0x02)))},
		{Name: "plugin-of-locals-in-loops", Want: "too many locals (4999)", Try: compiles(bomb(4999, 100, branching(0x03)))},
		{Name: "plugin-of-long-functions", Want: "bytes, where 2097152 are allowed", Try: compiles(bomb(10, 3<<20, func([]byte) []byte { return []byte{0x01} }))},
		{Name: "plugin-answers-with-many-objects", Want: "objects and lists", Try: answers(`{"files":[` + strings.Repeat(`{},`, 1<<17) + `{}]}`)},
	})
}

// TestHostileBranchesOfOneBlock tests only the refusal. The time to compile a block grows with
// the square of the branches out of it: without the limit, this module takes 30 seconds under
// the race detector. The row plugin-of-many-branches spreads the branches over many blocks.
func TestHostileBranchesOfOneBlock(t *testing.T) {
	err := compiles(bomb(1, 1, leaving(16_400)))(t, true)
	if err == nil || !strings.Contains(err.Error(), "branches, where 16384 are allowed") {
		t.Errorf("error %v", err)
	}
}

// An answer that is nested deeper than a reader's stack.
func TestHostileDepth(t *testing.T) {
	h := open(t, host.Options{Dirs: []string{guests(t, "rogue")}})
	for _, text := range []string{strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000), `{"files":` + strings.Repeat(`[`, 9_000) + strings.Repeat("]", 9_000) + "}"} {
		_, err := expose(t, h, "rogue", text)
		wantFault(t, err, host.FaultOutput)
		if len(err.Error()) > 8<<10 {
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
	}
	wantWell(t, h)
}

// Whatever the engine calls of a plugin, a loop in it ends at the time limit.
func TestHostileLoopInEachExport(t *testing.T) {
	exports := map[string]string{
		sdk.ExportProviderDescribe: "provider", sdk.ExportProviderOffers: "provider", sdk.ExportProviderCreate: "provider", sdk.ExportProviderObserve: "provider",
		sdk.ExportProviderList: "provider", sdk.ExportProviderTerminate: "provider", sdk.ExportProviderSnapshot: "provider",
		sdk.ExportFetcherResolve: "fetch", sdk.ExportFetcherLocate: "fetch", sdk.ExportExpose: "expose",
	}
	section := binary.AppendUvarint(nil, uint64(len(exports)))
	for name := range exports {
		section = append(append(append(section, sized([]byte(name)...)...), 0), 0)
	}
	dir := t.TempDir()
	for _, kind := range []string{"provider", "fetch", "expose"} {
		contract := map[string]string{"provider": "provider/1", "fetch": "fetcher/1", "expose": "expose/1"}[kind]
		manifest := fmt.Sprintf("id: %s-shout\nversion: 0.1.0\nimplements: [%s]\nprovides: [shout]\n", kind, contract)
		write(t, dir, kind+"-shout.wasm", module(manifest, join(types, function, append([]byte{7}, sized(section...)...), forever)...))
	}
	h := open(t, host.Options{Dirs: []string{dir}, Limits: host.Limits{CallTime: 300 * time.Millisecond}})
	plugins, errs := h.Plugins(t.Context())
	if len(plugins) != 3 || len(errs) > 0 {
		t.Fatalf("%v, %v", plugins, errs)
	}
	for _, p := range plugins {
		for export, kind := range exports {
			if strings.HasPrefix(p.Manifest.ID, kind) {
				wantFault(t, h.Invoke(t.Context(), p, export), host.FaultTime, export+" took longer than 300ms")
			}
		}
	}
}

// A module that takes long to compile, function after function, ends at the limit for
// that, and whoever gives up before does not wait for it.
func TestHostileCompilation(t *testing.T) {
	one := []byte{1, 10, 0x7f}
	for range 400 {
		one = append(one, branching(0x03)([]byte{1})...)
	}
	one = append(one, 0x0b)
	const functions = 3000
	code, indices := binary.AppendUvarint(nil, functions), binary.AppendUvarint(nil, functions)
	for range functions {
		code, indices = append(code, sized(one...)...), append(indices, 0)
	}
	dir := t.TempDir()
	write(t, dir, "expose-shout.wasm", module(shoutManifest, join(types, append([]byte{3}, sized(indices...)...), exported, append([]byte{10}, sized(code...)...))...))
	h := open(t, host.Options{Dirs: []string{dir}, CacheDir: t.TempDir(), Limits: host.Limits{CompileTime: 200 * time.Millisecond}})
	_, err := expose(t, h, "shout", "")
	wantFault(t, err, host.FaultTime, "compiling it took longer than 200ms")
}

func TestMemoryOfAllInstances(t *testing.T) {
	for _, c := range []struct{ memory, instances, want int }{{0, 8, 8}, {256, 64, 16}, {1024, 64, 4}, {4096, 64, 1}, {16, 64, 64}} {
		if got := host.Slots(host.Limits{Instances: c.instances}, c.memory); got != c.want {
			t.Errorf("%d instances of %d MB, not %d", got, c.memory, c.want)
		}
	}
}
