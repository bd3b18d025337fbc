package host

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/sdk"
)

// poser is an expose mode that asks for something of every kind, and has half of it.
func poser() (Plugin, Grant) {
	m := sdk.Manifest{ID: "expose-poser", Permissions: sdk.Permissions{
		Commands: []sdk.CommandPermission{{Command: "node"}, {Command: "deno"}},
		Env:      []sdk.EnvPermission{{Names: []string{"NODE_PATH", "DENO_DIR"}}},
		Files:    []sdk.FilePermission{{Paths: []string{".claude/skills/**", ".cursor/*.json", "a/.b/c", "AGENTS.md"}}},
	}}
	p := Plugin{Manifest: m, Access: access.Of(m)}
	return p, Grant{Lines: access.Make("command node", "env NODE_PATH", "file .claude/skills/**", "file a/.b/c", "file AGENTS.md")}
}

func file(path string) sdk.Surface { return sdk.Surface{Files: []sdk.SurfaceFile{{Path: path}}} }

func connection(path string) sdk.Surface {
	return sdk.Surface{Files: []sdk.SurfaceFile{{Path: path, Kind: sdk.FileConnection}}}
}

func server(command string, args ...string) sdk.Surface {
	return sdk.Surface{MCPServers: map[string]sdk.MCPServer{"tools": {Command: command, Args: args}}}
}

const (
	seer = sdk.PlaceholderSeer
	conn = sdk.PlaceholderConnection
)

func TestSurfacesThatAreFine(t *testing.T) {
	p, g := poser()
	for _, s := range []sdk.Surface{
		{}, {Prompt: "anything", Env: map[string]string{"SEER_TOOLS": "x", "NODE_PATH": "y"}},
		file("tools/__init__.py"), file("tools/a..b/c"), file("tools.md"), file("tools.Ö.d.ts"), file(".claude/skills/tools/SKILL.md"), file("a/.b/c"), file("AGENTS.md"),
		connection("tools.connection.json"), connection("tools/connection.json"), connection(".claude/skills/my-tools/my_tools.txt"), connection("tools.json"),
		server(seer, "mcp", "--connection", conn), server(seer, "mcp", "--wait", "45s", "--connection", conn, "--handle-above", "100"),
		server("node", "-e", "1"),
		{MCPServers: map[string]sdk.MCPServer{"tools": {Command: seer, Args: []string{"mcp", "--connection", conn}, Env: map[string]string{"SEER_X": "1"}}}},
	} {
		if err := newSurfaceCheck(p, g, "tools").check(s); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
	if err := newSurfaceCheck(p, g, "my_tools").check(connection(".claude/skills/my-tools/connection.json")); err != nil {
		t.Error(err)
	}
}

func TestSurfacesThatAreNot(t *testing.T) {
	p, g := poser()
	env := func(name string) sdk.Surface { return sdk.Surface{Env: map[string]string{name: "x"}} }
	many := sdk.Surface{Files: make([]sdk.SurfaceFile, maxSurfaceFiles+1)}
	for i := range many.Files {
		many.Files[i].Path = fmt.Sprint(i)
	}
	for name, tc := range map[string]struct {
		s     sdk.Surface
		fault Fault
		text  string
	}{
		"absolute":            {file("/etc/passwd"), FaultSurface, "plain relative path"},
		"up":                  {file("a/../../b"), FaultSurface, "plain relative path"},
		"empty":               {file(""), FaultSurface, "plain relative path"},
		"the folder":          {file("."), FaultSurface, "plain relative path"},
		"NUL":                 {file("a\x00b"), FaultSurface, "not a file name everywhere"},
		"backslash":           {file(`a\b`), FaultSurface, "not a file name everywhere"},
		"drive":               {file("C:/x"), FaultSurface, "not a file name everywhere"},
		"stream of NTFS":      {file("a.txt:b"), FaultSurface, "not a file name everywhere"},
		"device":              {file("a/NUL.txt"), FaultSurface, "not a file name everywhere"},
		"device 2":            {file("com1"), FaultSurface, "not a file name everywhere"},
		"dot at the end":      {file("a./b"), FaultSurface, "not a file name everywhere"},
		"space at the end":    {file("a /b"), FaultSurface, "not a file name everywhere"},
		"line break":          {file("a\nb"), FaultSurface, "not a file name everywhere"},
		"bytes":               {file("a\xff"), FaultSurface, "plain relative path"},
		"unseen":              {file("\u200c.git/config"), FaultSurface, "not a file name everywhere"},
		"short name":          {file("GIT~1/config"), FaultSurface, "not a file name everywhere"},
		"long":                {file(strings.Repeat("a", 600)), FaultSurface, "plain relative path"},
		"many":                {many, FaultSurface, "the limit is 10000"},
		"twice":               {sdk.Surface{Files: []sdk.SurfaceFile{{Path: "a"}, {Path: "A"}}}, FaultSurface, `"A" twice`},
		"file and folder":     {sdk.Surface{Files: []sdk.SurfaceFile{{Path: "a/b/c"}, {Path: "A"}}}, FaultSurface, "as a file and as a folder"},
		"somebody's script":   {file("train.py"), FaultSurface, "the file train.py, which is not named after the service, for which its manifest must ask: `file train.py`"},
		"all that it lacks":   {sdk.Surface{Files: []sdk.SurfaceFile{{Path: "train.py"}, {Path: "tools.py"}, {Path: "src/main.go"}}}, FaultSurface, "`file train.py`, `file src/main.go`"},
		"longer name":         {file("tools_x.py"), FaultSurface, "`file tools_x.py`"},
		"other case":          {file("Tools.py"), FaultSurface, "`file Tools.py`"},
		"folder of an ending": {file("tools.d/x"), FaultSurface, "`file tools.d/x`"},
		"the name alone":      {file("tools"), FaultSurface, "`file tools`"},
		"settings below":      {file("tools/.vscode/tasks.json"), FaultSurface, "where programs look for their settings"},
		"hook":                {file(".git/hooks/pre-commit"), FaultSurface, "`file .git/hooks/pre-commit`"},
		"hidden below":        {file("a/.vscode/tasks.json"), FaultSurface, "where programs look for their settings"},
		"settings of agent":   {file(".claude/settings.json"), FaultSurface, "`file .claude/settings.json`"},
		"words to agents":     {file("a/Claude.md"), FaultSurface, "`file a/Claude.md`"},
		"start of Python":     {file("sitecustomize.py"), FaultSurface, "`file sitecustomize.py`"},
		"servers of run":      {file("mcp.json"), FaultSurface, "Seer's own"},
		"experiment":          {file("SEER.yaml"), FaultSurface, "Seer's own"},
		"lock":                {file("a/seer.lock"), FaultSurface, "Seer's own"},
		"seer's servers":      {env("SEER_MCP_CONFIG"), FaultSurface, "`env SEER_MCP_CONFIG`"},
		"seer's prompt":       {env("SEER_PROMPT"), FaultSurface, "`env SEER_PROMPT`"},
		"not granted":         {file(".cursor/mcp.json"), FaultGrant, "grant it to the plugin"},
		"only the folder":     {file(".claude/skills"), FaultSurface, "`file .claude/skills`"},
		"others' connection":  {connection("other.connection.json"), FaultSurface, "is a connection file"},
		"connection as text":  {file("tools.connection.json"), FaultSurface, "is a connection file"},
		"folder of another":   {connection("other/connection.json"), FaultSurface, "is a connection file"},
		"in capitals":         {file("Other.Connection.JSON"), FaultSurface, "is a connection file"},
		"variable":            {env("LD_PRELOAD"), FaultSurface, "`env LD_PRELOAD`"},
		"not granted either":  {env("DENO_DIR"), FaultGrant, "`env DENO_DIR`"},
		"seer's own":          {env("SEER_PLUGIN_DIR"), FaultSurface, "`env SEER_PLUGIN_DIR`"},
		"no variable":         {env("A=B"), FaultSurface, "not a name of a variable"},
		"value":               {sdk.Surface{Env: map[string]string{"SEER_X": "a\x00"}}, FaultSurface, "NUL"},
		"shell":               {server("sh", "-c", "x"), FaultSurface, "`command sh`"},
		"not granted program": {server("deno"), FaultGrant, "`command deno`"},
		"like seer":           {server(seer + " "), FaultSurface, "starts the program"},
		"seer exec":           {server(seer, "exec", "--", "sh"), FaultSurface, "only start it as"},
		"other connection":    {server(seer, "mcp", "--connection", "/tmp/x.json"), FaultSurface, "only start it as"},
		"no connection":       {server(seer, "mcp", "--wait", "1s"), FaultSurface, "only start it as"},
		"two connections":     {server(seer, "mcp", "--connection", conn, "--connection", conn), FaultSurface, "only start it as"},
		"http":                {server(seer, "mcp", "--connection", conn, "--http", "0.0.0.0:80"), FaultSurface, "only start it as"},
		"plugin folder":       {server(seer, "mcp", "--connection", conn, "--plugin-dir", "{{seer.dir}}"), FaultSurface, "only start it as"},
		"flag as value":       {server(seer, "mcp", "--connection", conn, "--wait", "--http"), FaultSurface, "only start it as"},
		"argument with NUL":   {server("node", "a\x00"), FaultSurface, "NUL"},
		"name of the server":  {sdk.Surface{MCPServers: map[string]sdk.MCPServer{"a b": {Command: "node"}}}, FaultSurface, "whose name"},
		"server's variable": {sdk.Surface{MCPServers: map[string]sdk.MCPServer{"tools": {Command: "node",
			Env: map[string]string{"LD_PRELOAD": "x"}}}}, FaultSurface, "its MCP server tools sets the variable LD_PRELOAD"},
	} {
		err := newSurfaceCheck(p, g, "tools").check(tc.s)
		var e *Error
		if !errors.As(err, &e) || e.Fault != tc.fault || !strings.Contains(err.Error(), tc.text) || e.Plugin != "expose-poser" {
			t.Errorf("%s: %v, want %s with %q", name, err, tc.fault, tc.text)
		}
	}
}

// Blanks that are no spaces could move a word to where a line of Seer's would begin.
func TestTextsHoldNothingUnseen(t *testing.T) {
	text := []byte("id: fetch-tiny\nversion: 1.0.0\nimplements: [fetcher/1]\nprovides: [tiny]\ndescription: \"fine%s\"\n")
	for _, odd := range []string{`\u2800`, `\u3164`, `\u200b`, `\u00ad`, `\ufeff`, `\U000E0041`} {
		if _, err := CheckManifest("p.yaml", []byte(strings.Replace(string(text), "%s", odd, 1))); err == nil {
			t.Errorf("%s is accepted", odd)
		}
	}
	if _, err := CheckManifest("p.yaml", []byte(strings.Replace(string(text), "%s", "für 日本 👩‍🔬", 1))); err != nil {
		t.Error(err)
	}
}

// A pattern is no wider than it looks: a bracket is no slash.
func TestFilePatterns(t *testing.T) {
	for _, tc := range []struct {
		pattern, name string
		want          bool
	}{
		{".a/[b-c].md", ".a/b.md", true}, {".a[!-~]b", ".a/b", false}, {".a/[^x]*", ".a/b/c", false}, {".a/**", ".a/b/c", true}, {".a/*", ".a/b/c", false}, {".a[!-~]b/**", ".a/b/c", false},
	} {
		if matchFile(tc.pattern, tc.name) != tc.want {
			t.Errorf("%s matches %s: want %v", tc.pattern, tc.name, tc.want)
		}
	}
}

// A path that passes is the same file for every system, and inside.
func FuzzSurfacePath(f *testing.F) {
	for _, path := range []string{"a/b", ".claude/skills/x", "a/../b", "nul", "a:b", "tools/connection.json", "A.", "\u202e"} {
		f.Add(path)
	}
	p, g := poser()
	f.Fuzz(func(t *testing.T, path string) {
		if newSurfaceCheck(p, g, "tools").check(file(path)) != nil {
			return
		}
		for _, part := range strings.Split(path, "/") {
			if !strings.HasPrefix(path, "tools/") && !strings.HasPrefix(path, "tools.") && !strings.HasPrefix(path, ".claude/skills/") && path != "a/.b/c" && path != "AGENTS.md" || part == "" || part == ".." || strings.ContainsAny(part, "\\:\x00\n") || strings.HasPrefix(part, ".") && !strings.HasPrefix(path, ".claude/skills/") && path != "a/.b/c" {
				t.Errorf("%q was accepted", path)
			}
		}
	})
}

func TestAttacksSurfaces(t *testing.T) {
	attack.Run(t, []attack.Row{
		{Name: "surface-names-files-of-others", Want: "which is not named after the service", Try: func(_ *testing.T, defended bool) error {
			c := surfaceCheck{plugin: Plugin{Manifest: sdk.Manifest{ID: "expose-evil"}}, name: "tools", unbounded: !defended}
			return c.check(sdk.Surface{Files: []sdk.SurfaceFile{{Path: "train.py"}, {Path: "src/main.go"}}})
		}},
	})
}
