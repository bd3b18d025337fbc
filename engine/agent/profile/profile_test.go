package profile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// hard are values that break a file into which they are written without quotes.
var hard = Data{
	Model: `m"\` + "\n", ModelURL: "http://127.0.0.1:1", Upstream: "https://gateway.example", Token: "secret-token",
	Servers: []Server{
		{Name: `a.b"c`, Command: "/bin/x y", Args: []string{`-"'`, "\u007f\u2028<&>"}, Env: map[string]string{"K": "v\n"}},
		{Name: "plain", Command: "/bin/plain"},
	},
	MCPFile: "/home/a/mcp.json", Prompt: "p", PromptFile: "/home/a/p", Workspace: "/w", Home: "/home/a", MaxTurns: 7, Tools: []string{"Bash", "Read"}, AsRoot: true,
}

func render(t *testing.T, name string, data Data) Rendered {
	t.Helper()
	p, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Render(data)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOwnProfiles(t *testing.T) {
	if names := Names(); !slices.Equal(names, []string{"claude", "codex", "gemini", "opencode"}) {
		t.Errorf("names %q", names)
	}
	for _, name := range Names() {
		p, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if p.Title == "" || p.Install == "" || p.Minimum == "" || p.API == "" || p.Upstream == "" || p.Header == "" || len(p.Keys) == 0 || p.File != "" {
			t.Errorf("%s lacks something: %+v", name, p)
		}
		minimal := Data{Model: "m", ModelURL: "http://127.0.0.1:1", Token: "t", Home: "/home/a"}
		for _, data := range []Data{hard, minimal} {
			checkRendered(t, p, data)
		}
		r := render(t, name, minimal)
		if all := strings.Join(r.Args, " "); strings.Contains(all, "max-turns") || strings.Contains(all, "tools") || slices.Contains(r.Args, "") {
			t.Errorf("%s: arguments without a value: %q", name, r.Args)
		}
	}
}

// checkRendered: files can be read, the prompt and the key are in no argument, and the key is handed
// over.
func checkRendered(t *testing.T, p *Profile, data Data) {
	t.Helper()
	r, err := p.Render(data)
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range r.Files {
		var v map[string]any
		switch {
		case strings.HasSuffix(file, ".json"):
			err = json.Unmarshal([]byte(text), &v)
		case strings.HasSuffix(file, ".toml"):
			err = toml.Unmarshal([]byte(text), &v)
		default:
			t.Errorf("%s: %s is of no known kind", p.Name, file)
		}
		if err != nil || len(v) == 0 {
			t.Errorf("%s: %s: %v\n%s", p.Name, file, err, text)
		}
		if strings.Contains(text, data.Token) && len(data.Token) > 1 {
			t.Errorf("%s: the key is in %s", p.Name, file)
		}
	}
	for _, arg := range r.Args {
		if strings.Contains(arg, "secret-token") || arg == data.Prompt {
			t.Errorf("%s: argument %q", p.Name, arg)
		}
	}
	var values []string
	for _, value := range r.Env {
		values = append(values, value)
	}
	if !slices.Contains(values, data.Token) {
		t.Errorf("%s: no variable has the key", p.Name)
	}
}

func TestServersOfCodex(t *testing.T) {
	var config struct {
		Model   string
		Servers map[string]struct {
			Command string
			Args    []string
			Env     map[string]string
			Mode    string `toml:"default_tools_approval_mode"`
		} `toml:"mcp_servers"`
	}
	text := render(t, "codex", hard).Files[".codex/config.toml"]
	if err := toml.Unmarshal([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	for _, want := range hard.Servers {
		got := config.Servers[want.Name]
		if got.Command != want.Command || !slices.Equal(got.Args, want.Args) || got.Mode != "approve" || got.Env["K"] != want.Env["K"] {
			t.Errorf("%+v, and not %+v", got, want)
		}
	}
	if config.Model != hard.Model || len(config.Servers) != 2 {
		t.Errorf("model %q, %d servers", config.Model, len(config.Servers))
	}
}

func TestMCPFile(t *testing.T) {
	want := `{"mcpServers":{"s":{"args":[],"command":"/bin/s"},"t":{"args":["<"],"command":"/bin/t","env":{"K":"v"}}}}`
	got := MCPFile([]Server{{Name: "s", Command: "/bin/s"}, {Name: "t", Command: "/bin/t", Args: []string{"<"}, Env: map[string]string{"K": "v"}}})
	if got != want {
		t.Errorf("%s", got)
	}
}

func TestLimits(t *testing.T) {
	for name, want := range map[string][2]bool{"claude": {true, true}, "codex": {false, false}, "gemini": {true, true}, "opencode": {false, true}} {
		p, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]bool{p.Uses("MaxTurns"), p.Uses("Tools")}; got != want {
			t.Errorf("%s: turns and tools %v", name, got)
		}
	}
	lines, err := Parse("p", "f", []byte("program: a\ndriver: acp\nargs: ['{{.ModelURL}}', text .Prompt]\n"))
	if err != nil || lines.Uses("Model") || !lines.Uses("ModelURL") {
		t.Errorf("%v: a part of a name is used", err)
	}
	claude := render(t, "claude", hard)
	for _, want := range []string{"--max-turns=7", "--tools=Bash,Read"} {
		if !slices.Contains(claude.Args, want) {
			t.Errorf("%q without %s", claude.Args, want)
		}
	}
	if claude.Env["IS_SANDBOX"] != "1" || claude.Env["ANTHROPIC_DEFAULT_HAIKU_MODEL"] != hard.Model {
		t.Errorf("%q", claude.Env)
	}
	claude = render(t, "claude", Data{ModelURL: "http://127.0.0.1:1", Upstream: "https://api.anthropic.com", Model: "m"})
	for _, name := range []string{"IS_SANDBOX", "ANTHROPIC_DEFAULT_HAIKU_MODEL"} {
		if value, set := claude.Env[name]; set {
			t.Errorf("%s is %q", name, value)
		}
	}
	opencode, err := Load("opencode")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opencode.Render(Data{}); sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), "agent.model") {
		t.Errorf("%v", err)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFilesOfUsersComeFirst(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	write(t, first, "claude.yaml", "program: my-claude\ndriver: claude\n")
	write(t, second, "claude.yaml", "program: other\ndriver: claude\n")
	write(t, second, "goose.yaml", "program: /opt/goose\ndriver: acp\nargs: [acp, '{{range .Servers}}--with={{json .Name}}{{end}}']\n")
	write(t, second, "No Profile.yaml", "")
	dirs := []string{filepath.Join(first, "absent"), first, second}
	p, err := Load("claude", dirs...)
	if err != nil || p.Program != "my-claude" || p.File != filepath.Join(first, "claude.yaml") || p.Title != "claude" || p.API != "" {
		t.Errorf("%+v, %v", p, err)
	}
	if names := Names(dirs...); !slices.Equal(names, []string{"claude", "codex", "gemini", "goose", "opencode"}) {
		t.Errorf("names %q", names)
	}
	p, err = Load("goose", dirs...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Render(Data{Servers: []Server{{Name: "s"}}})
	if err != nil || !slices.Equal(r.Args, []string{"acp", `--with="s"`}) {
		t.Errorf("%q, %v", r.Args, err)
	}
	if _, err := Load("cursor", dirs...); sdk.CodeOf(err) != sdk.NotFound || !strings.Contains(err.Error(), "goose") {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"../claude", "", "a/b", "A"} {
		if _, err := Load(name, dirs...); sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestDocumentation: the profiles of the documentation work.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../../docs/agent-profiles.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```yaml\n")[1:]
	for i, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		p, err := Parse("p", "f", []byte(block))
		if err != nil {
			t.Errorf("profile %d: %v", i, err)
			continue
		}
		if r, err := p.Render(hard); err != nil || len(r.Args) == 0 {
			t.Errorf("profile %d: %+v, %v", i, r, err)
		} else if servers := r.Files["servers.json"]; servers != "" && !json.Valid([]byte(servers)) {
			t.Errorf("profile %d: %s", i, servers)
		}
	}
	for _, key := range keys {
		if !strings.Contains(string(text), "| `"+key+"` |") {
			t.Errorf("the field %s is not in the documentation", key)
		}
	}
	if len(blocks) != 2 {
		t.Errorf("%d profiles", len(blocks))
	}
}

func TestMistakes(t *testing.T) {
	for text, wants := range map[string][]string{
		"":           {"f:1: empty; write at least"},
		"title: x\n": {"f:1: program: missing", "f:1: driver: missing"},
		"program: a\ndriver: clade\napi: x\nheader: cookie\n": {"f:2: driver: \"clade\" is unknown", "f:3: api:", "f:4: header:"},
		"program: ./a\ndriver: acp\nminimum: new\nupstream: api.example\nkey: [A-B]\n": {
			"f:1: program: \"./a\" is neither", "f:3: minimum:", "f:4: upstream:", "f:5: key:"},
		"program: a\ndriver: acp\nprogramm: b\n":                    {"f:3: profile: unknown key \"programm\"; did you mean \"program\"?"},
		"program: a\ndriver: acp\nargs: -x\n":                       {"f:3: args: not a list"},
		"program: a\ndriver: acp\nargs:\n  - a\n  - '{{.Modle}}'\n": {`f:5: args: unknown value ".Modle"; did you mean ".Model"?`},
		"program: a\ndriver: acp\nargs: ['{{range .Servers}}{{.Nam}}{{end}}', '{{jsn .Model}}']\n": {
			`f:3: args: unknown value ".Nam"; did you mean ".Name"?`, `f:3: args: unknown function "jsn"; did you mean "json"?`},
		"program: a\ndriver: acq\n":                                                               {`f:2: driver: "acq" is unknown; did you mean "acp"?`},
		"program: a\ndriver: acp\nargs: ['{{if .Model}}']\n":                                      {"f:3: args: unexpected EOF"},
		"program: a\ndriver: acp\nfiles:\n  a.json: |\n    {\n      \"x\": {{.Token.X}}\n    }\n": {"f:6: files.a.json: <.Token.X>:"},
		"program: a\ndriver: acp\nfiles:\n  ../a: x\n  /etc/b: x\n":                               {"f:4: files:", "f:5: files:"},
		"program: a\ndriver: acp\nenv:\n  A B: x\n":                                               {"f:4: env: \"A B\" is no name"},
		"program: a\ndriver: acp\nargs: ['{{range 99999999}}xxxxxxxxxxxxxxxx{{end}}']\n":          {"f:3: args: the text is longer than 1024 KiB"},
		"program: a\ndriver: acp\nargs: ['{{toml 5}}']\n":                                         {"toml takes a text"},
		"program: a\ndriver: acp\nmodel_required: maybe\n":                                        {"f:3: model_required: neither true nor false"},
	} {
		_, err := Parse("p", "f", []byte(text))
		if err == nil {
			t.Errorf("%q: no error", text)
			continue
		}
		for _, want := range wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: without %q:\n%v", text, want, err)
			}
		}
	}
}

func TestFindProgram(t *testing.T) {
	home := t.TempDir()
	bin := filepath.Join(home, ".local/bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	env := func(key string) string { return map[string]string{"HOME": home}[key] }
	p := &Profile{Title: "Agent", Program: "seer-test-agent", Install: "Install it from the disk.", Minimum: "1.10.0", VersionArgs: []string{"--version"}}
	_, err := p.Find(t.Context(), env)
	if sdk.CodeOf(err) != sdk.NotFound || !strings.Contains(err.Error(), bin) || !strings.HasSuffix(err.Error(), p.Install) {
		t.Errorf("%v", err)
	}
	for version, code := range map[string]sdk.Code{"1.9.9": sdk.Unsupported, "1.10.0": "", "2.0": "", "2026.01.05.7": "", "1.10.0-beta": sdk.Unsupported, "none": sdk.Invalid} {
		program := filepath.Join(bin, p.Program)
		testkit.WriteProgram(t, program, "#!/bin/sh\necho agent "+version+"\n")
		if _, err := p.Find(t.Context(), env); sdk.CodeOf(err) != code && !(code == "" && err == nil) {
			t.Errorf("%s: %v", version, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range Names() {
		data, err := own.ReadFile("profiles/" + name + ending)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if strings.Contains(string(data), "range") || strings.Contains(string(data), "template") || strings.Contains(string(data), "printf") {
			return // loops and widths take the time that they say
		}
		p, err := Parse("p", "f", data)
		if err == nil {
			p.Render(hard) //nolint:errcheck // only a panic is a mistake
		}
	})
}
