package sdktest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seer-engine/seer/sdk"
)

// maxSurface is the largest surface: the output of a call.
const maxSurface = 16 << 20

// ExposeChecks lists what an expose mode is tried for; see [Check].
func ExposeChecks(k ExposeKit) []Check {
	m := &mode{k, newGuard(0), map[string]sdk.Surface{}}
	return []Check{
		{Name: "expose/pure", run: m.pure, Doc: "The same request gives the same surface, which Seer keeps."},
		{Name: "expose/together", run: m.together, Doc: "Calls may come from several goroutines at once."},
		{Name: "expose/every-interface", run: m.every, Doc: "Every interface that Python can have gives a surface: none, hundreds of functions, Unicode, docs with every kind of quote."},
		{Name: "expose/names-functions", run: m.names, Doc: "An agent learns of every function."},
		{Name: "expose/files", run: m.files, Doc: "Paths of files are slash-separated, relative, without .. and different; those that are neither NAME.* nor below NAME/, and those with a part that begins with a dot, need a permission."},
		{Name: "expose/permissions", run: m.permissions, Doc: "An MCP server is Seer's own program, a variable begins with SEER_, or the manifest asks for more."},
		{Name: "expose/placeholders", run: m.placeholders, Doc: "Placeholders are filled in in servers, prompt and variables only; who points at the connection makes a file of it."},
		{Name: "expose/unknown-option", run: m.option, Doc: "An option that the mode does not know is invalid."},
		{Name: "expose/unknown-field", run: m.field, Doc: "A plugin ignores input fields that it does not know."},
		{Name: "expose/size", run: m.size, Doc: "A surface is at most 16 MiB, and grows with the interface."},
		{Name: "end/errors-one-line", run: m.tidy, always: true, Doc: "A message is one sentence for a person."},
	}
}

type mode struct {
	kit   ExposeKit
	guard *guard
	made  map[string]sdk.Surface // by each: whether they stay the same is a check of its own
}

func (m *mode) expose(ctx context.Context, req sdk.ExposeRequest) (sdk.Surface, error) {
	e := m.kit.Open()
	return call(ctx, m.guard, "Expose", func(ctx context.Context) (sdk.Surface, error) { return e.Expose(ctx, req) })
}

func (m *mode) options() []json.RawMessage { return append([]json.RawMessage{nil}, m.kit.Options...) }

// each tries f with the surface of every interface and every set of options.
func (m *mode) each(ctx context.Context, t *trial, f func(name string, req sdk.ExposeRequest, s sdk.Surface)) {
	all := Interfaces()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, options := range m.options() {
			req := sdk.ExposeRequest{Name: all[name].Module, Interface: all[name], Options: options}
			where := fmt.Sprintf("interface %q", name)
			if len(options) > 0 {
				where += fmt.Sprintf(" with options %s", options)
			}
			s, known := m.made[where]
			if !known {
				var err error
				if s, err = m.expose(ctx, req); err != nil {
					t.failf("%s: %s", where, describe(err))
					continue
				}
				m.made[where] = s
			}
			f(where, req, s)
		}
	}
}

func (m *mode) pure(ctx context.Context, t *trial) {
	m.each(ctx, t, func(name string, req sdk.ExposeRequest, s sdk.Surface) {
		for range 4 { // the order of a map shows after a few
			again, err := m.expose(ctx, req)
			if err != nil || !same(s, again) {
				t.failf("%s: the second surface differs from the first: %s; sort what comes from a map, and use neither time nor chance", name, because(err))
				return
			}
		}
	})
}

func (m *mode) together(ctx context.Context, t *trial) {
	req := sdk.ExposeRequest{Name: "tools", Interface: Interfaces()["usual"]}
	want, err := m.expose(ctx, req)
	if !t.try("Expose", err) {
		return
	}
	n := 64
	if m.kit.Quick {
		n = 8
	}
	one := m.kit.Open()
	errs := make([]string, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Add(1) // the kit is also for Go 1.24, which has no WaitGroup.Go
		go func() {
			defer wait.Done()
			mine := req
			mine.Name = fmt.Sprintf("tools_%d", i%4)
			_, _ = call(ctx, m.guard, "Expose", func(ctx context.Context) (sdk.Surface, error) { return one.Expose(ctx, mine) })
			s, err := call(ctx, m.guard, "Expose", func(ctx context.Context) (sdk.Surface, error) { return one.Expose(ctx, req) })
			if err != nil || !same(s, want) {
				errs[i] = "another surface" + because(err)
			}
		}()
	}
	wait.Wait()
	errs = slices.DeleteFunc(errs, func(s string) bool { return s == "" })
	if len(errs) > 0 {
		t.failf("of %d calls at once, %d gave %s", n, len(errs), errs[0])
	}
}

func (m *mode) every(ctx context.Context, t *trial) {
	m.each(ctx, t, func(name string, req sdk.ExposeRequest, s sdk.Surface) {
		if len(s.Files) == 0 && len(s.MCPServers) == 0 && strings.TrimSpace(s.Prompt) == "" {
			t.failf("%s: the surface is empty", name)
		}
		for _, f := range s.Files {
			if f.Kind == sdk.FileText && path.Ext(f.Path) == ".json" && !json.Valid([]byte(f.Text)) {
				t.failf("%s: %s is not JSON", name, f.Path)
			}
		}
		if m.kit.Check != nil {
			if err := m.kit.Check(req, s); err != nil {
				t.failf("%s: %v", name, err)
			}
		}
	})
}

// names looks for each function's name in the surface. Servers tell it themselves.
func (m *mode) names(ctx context.Context, t *trial) {
	m.each(ctx, t, func(name string, req sdk.ExposeRequest, s sdk.Surface) {
		if len(s.MCPServers) > 0 {
			return
		}
		var text strings.Builder
		text.WriteString(s.Prompt)
		for _, f := range s.Files {
			text.WriteString(f.Text)
		}
		for _, f := range req.Interface.Functions {
			escaped := strings.Trim(fmt.Sprintf("%+q", f.Name), `"`)
			if !strings.Contains(text.String(), f.Name) && !strings.Contains(text.String(), escaped) {
				t.failf("%s: the function %s appears nowhere", name, f.Name)
				return
			}
		}
	})
}

// matchPath is [path.Match], with a last segment ** for all the rest.
func (m *mode) permissions(ctx context.Context, t *trial) {
	m.each(ctx, t, func(name string, _ sdk.ExposeRequest, s sdk.Surface) {
		for server, def := range s.MCPServers {
			if def.Command != sdk.PlaceholderSeer && !slices.ContainsFunc(m.kit.Permissions.Commands, func(c sdk.CommandPermission) bool { return c.Command == def.Command }) {
				t.failf("%s: the server %q runs %q; use %s, or ask for it in the manifest's permissions.commands", name, server, def.Command, sdk.PlaceholderSeer)
			}
			for variable := range def.Env {
				m.variable(t, name, variable)
			}
		}
		for variable := range s.Env {
			m.variable(t, name, variable)
		}
	})
}

func (m *mode) variable(t *trial, where, name string) {
	if strings.HasPrefix(name, "SEER_") {
		return
	}
	if !slices.ContainsFunc(m.kit.Permissions.Env, func(e sdk.EnvPermission) bool { return slices.Contains(e.Names, name) }) {
		t.failf("%s: the variable %s is set; ask for it in the manifest's permissions.env, or use a name that begins with SEER_", where, name)
	}
}

func (m *mode) placeholders(ctx context.Context, t *trial) {
	m.each(ctx, t, func(name string, req sdk.ExposeRequest, s sdk.Surface) {
		docs := jsonText(req) // may have one in them, as any text
		uses := jsonText([]any{s.MCPServers, s.Prompt, s.Env})
		makes := slices.ContainsFunc(s.Files, func(f sdk.SurfaceFile) bool { return f.Kind == sdk.FileConnection })
		if strings.Contains(uses, sdk.PlaceholderConnection) && !makes {
			t.failf("%s: %s is used, and there is no file of the kind %q", name, sdk.PlaceholderConnection, sdk.FileConnection)
		}
		for _, f := range s.Files {
			for _, p := range []string{sdk.PlaceholderConnection, sdk.PlaceholderSeer, sdk.PlaceholderDir} {
				if strings.Contains(f.Text+f.Path, p) && !strings.Contains(docs, p) {
					t.failf("%s: %s has %s in it, where nobody fills it in", name, f.Path, p)
				}
			}
		}
	})
}

func jsonText(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // strings always encode
	return b.String()
}

func (m *mode) option(ctx context.Context, t *trial) {
	for _, options := range []string{`{"no_such_option_of_seer": true}`, `[1]`, `"text"`} {
		_, err := m.expose(ctx, sdk.ExposeRequest{Name: "tools", Interface: Interfaces()["usual"], Options: json.RawMessage(options)})
		if isDefect(err) || sdk.CodeOf(err) != sdk.Invalid {
			t.failf("options %s: %s; invalid was expected: a typing error must not be overlooked", options, describe(err))
		}
	}
}

// field adds to the request what a later Seer may send. Native code has decoded it
// already: this is for modules, whose adapter passes options and schemas as they are.
func (m *mode) field(ctx context.Context, t *trial) {
	i := Interfaces()["usual"]
	i.Functions = slices.Clone(i.Functions)
	i.Functions[0].InputSchema = json.RawMessage(`{"type":"object","x-new":{"a":[null]},"properties":{"query":{"type":"string","x-new":1},"limit":true}}`)
	_, err := m.expose(ctx, sdk.ExposeRequest{Name: "tools", Interface: i})
	t.try("a schema with keys that nobody knows", err)
}

func (m *mode) size(ctx context.Context, t *trial) {
	m.each(ctx, t, func(name string, req sdk.ExposeRequest, s sdk.Surface) {
		out, in := len(jsonOf(s)), len(jsonOf(req))
		if out > maxSurface || out > 64*in+1<<20 {
			t.failf("%s: the surface has %d bytes for an interface of %d", name, out, in)
		}
	})
}

func (m *mode) tidy(_ context.Context, t *trial) {
	for _, text := range m.guard.untidy() {
		t.failf("%s", text)
	}
}

// ExposeKit says how to try an expose mode.
type ExposeKit struct {
	Open func() sdk.Exposer // called often: Seer runs several instances, and none has a memory

	// Options are sets of options that the mode knows; each is tried with every
	// interface. None at all is always tried.
	Options []json.RawMessage
	// Permissions are those of the manifest: what a surface may contain.
	Permissions sdk.Permissions
	// Check looks at a surface more closely, such as whether a program that was made
	// compiles. Optional.
	Check func(sdk.ExposeRequest, sdk.Surface) error

	Quick bool // purity is tried with fewer goroutines
}

// Expose tries an expose mode in a test of its own for each check.
func Expose(t *testing.T, k ExposeKit) {
	t.Helper()
	test(t, ExposeChecks(k))
}
