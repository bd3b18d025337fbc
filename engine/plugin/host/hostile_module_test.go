package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk"
)

// Modules and manifests that attack whoever reads, compiles or starts them.

// part is a section of a module.
func part(id byte, body ...byte) []byte {
	size := []byte{byte(len(body))&0x7f | 0x80, byte(len(body) >> 7)}
	return append(append([]byte{id}, size...), body...)
}

func join(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

var (
	types    = part(1, 1, 0x60, 0, 0)
	function = part(3, 1, 0)
	exported = part(7, 1, 6, 'e', 'x', 'p', 'o', 's', 'e', 0, 0)
	returns  = part(10, 1, 2, 0, 0x0b)
	forever  = part(10, 1, 7, 0, 0x03, 0x40, 0x0c, 0, 0x0b, 0x0b)
)

// handmade puts a module with a manifest into a host of its own.
func handmade(t *testing.T, limit time.Duration, sections ...[]byte) *host.Host {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "expose-shout.wasm", module(shoutManifest, join(sections...)...))
	return open(t, host.Options{Dirs: []string{dir}, Limits: host.Limits{CallTime: limit}})
}

func TestHostileModules(t *testing.T) {
	for name, tc := range map[string]struct {
		sections [][]byte
		fault    host.Fault
		texts    []string
	}{
		"a start that never ends": {[][]byte{types, function, exported, part(8, 0), forever}, host.FaultTime, []string{"its start took longer than 1s"}},
		"an _initialize that never ends": {[][]byte{types, function, part(7, 2, 6, 'e', 'x', 'p', 'o', 's', 'e', 0, 0, 11, '_', 'i', 'n', 'i', 't', 'i', 'a', 'l', 'i', 'z', 'e', 0, 0), forever},
			host.FaultTime, []string{"longer than 1s"}},
		"a table of a gigabyte":    {[][]byte{types, function, part(4, 1, 0x70, 0, 0x80, 0x80, 0x80, 0x40), exported, returns}, host.FaultCorrupt, []string{"a table of 134217728 entries"}},
		"a hundred tables":         {[][]byte{types, function, part(4, append([]byte{100}, []byte(strings.Repeat("\x70\x00\x01", 100))...)...), exported, returns}, host.FaultCorrupt, []string{"100 tables"}},
		"a table that grows":       {[][]byte{types, function, part(4, 1, 0x6f, 0, 1), exported, part(10, 1, 13, 0, 0xd0, 0x6f, 0x41, 0x80, 0x80, 0x80, 0x04, 0xfc, 0x0f, 0, 0x1a, 0x0b)}, host.FaultOutput, []string{"answered nothing"}},
		"a memory of four GB":      {[][]byte{types, function, part(5, 1, 0, 0x80, 0x80, 4), exported, returns}, host.FaultCorrupt, []string{"cannot be compiled"}},
		"a memory that is shared":  {[][]byte{types, function, part(5, 1, 3, 1, 2), exported, returns}, host.FaultCorrupt, []string{"cannot be compiled"}},
		"a memory of 64 bits":      {[][]byte{types, function, part(5, 1, 4, 1), exported, returns}, host.FaultCorrupt, []string{"cannot be compiled"}},
		"two memories":             {[][]byte{types, function, part(5, 2, 0, 1, 0, 1), exported, returns}, host.FaultCorrupt, []string{"cannot be compiled"}},
		"data outside of memory":   {[][]byte{types, function, part(5, 1, 0, 1), exported, returns, part(11, 1, 0, 0x41, 0x80, 0x80, 0xfc, 0xff, 0x07, 0x0b, 1, 'x')}, host.FaultCorrupt, []string{"cannot be started"}},
		"a function that is not":   {[][]byte{types, function, part(7, 1, 6, 'e', 'x', 'p', 'o', 's', 'e', 0, 99), returns}, host.FaultCorrupt, []string{"cannot be compiled"}},
		"a million locals":         {[][]byte{types, function, exported, part(10, 1, 7, 1, 0xc0, 0x84, 0x3d, 0x7f, 0x0b, 0, 0)}, host.FaultCorrupt, []string{"cannot be compiled"}},
		"an endless recursion":     {[][]byte{types, function, exported, part(10, 1, 4, 0, 0x10, 0, 0x0b)}, host.FaultCrash, []string{"stack overflow"}},
		"unreachable":              {[][]byte{types, function, exported, part(10, 1, 3, 0, 0x00, 0x0b)}, host.FaultCrash, []string{"unreachable"}},
		"atomics":                  {[][]byte{types, function, part(5, 1, 0, 1), exported, part(10, 1, 10, 0, 0x41, 0, 0xfe, 0x10, 2, 0, 0x1a, 0x0b, 0)}, host.FaultCorrupt, []string{"cannot be compiled"}},
		"an answer without memory": {[][]byte{types, function, exported, returns}, host.FaultOutput, []string{"answered nothing"}},
	} {
		t.Run(name, func(t *testing.T) {
			limit := time.Minute // a deep recursion is slow under the race detector
			if tc.fault == host.FaultTime {
				limit = time.Second
				t.Parallel()
			}
			h := handmade(t, limit, tc.sections...)
			e, err := h.Exposer(t.Context(), "shout")
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // it is no better for the next one
				_, err = e.Expose(t.Context(), sdk.ExposeRequest{Name: "tools"})
				wantFault(t, err, tc.fault, tc.texts...)
			}
		})
	}
}

// Who gives up does not wait for a module that never starts.
func TestHostileStartIsGivenUp(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "expose-shout.wasm", module(shoutManifest, join(types, function, exported, part(8, 0), forever)...))
	h := open(t, host.Options{Dirs: []string{dir}, Limits: host.Limits{CallTime: time.Hour}})
	e, err := h.Exposer(t.Context(), "shout")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := e.Expose(ctx, sdk.ExposeRequest{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

// Manifests that become large while they are read.
func TestHostileManifests(t *testing.T) {
	var laughs strings.Builder
	laughs.WriteString("a: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha, ha]\n")
	for i := range 12 {
		fmt.Fprintf(&laughs, "b%d: &a%d [%s*a%d]\n", i, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	for name, text := range map[string]string{
		"billion laughs":    laughs.String(),
		"laughs in a list":  strings.Replace(laughs.String(), "a: &a0", "provides: &a0", 1),
		"itself":            "id: &a [*a]\n",
		"itself, in a map":  "permissions: &p {http: *p}\n",
		"merged with it":    "permissions: &p {<<: *p}\n",
		"very deep":         "id: " + strings.Repeat("[", 20_000) + "\n",
		"very deep, closed": "id: " + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "\n",
		"very long":         "id: " + strings.Repeat("x", 1<<20) + "\n",
		"NUL":               "id: \x00\n",
		"tags":              "id: !!python/object/apply:os.system [id]\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "expose-shout.wasm", module(text, exportsExpose...))
			_, errs := open(t, host.Options{Dirs: []string{dir}}).Plugins(t.Context())
			if len(errs) != 1 {
				t.Fatalf("%v", errs)
			}
			wantFault(t, errs[0], host.FaultManifest)
			if len(errs[0].Error()) > 100<<10 {
				t.Errorf("the error has %d bytes", len(errs[0].Error()))
			}
		})
	}
}
