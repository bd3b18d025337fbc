package skill

import (
	"encoding/json"
	"flag"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

var update = flag.Bool("update", false, "write the golden files anew")

func request() sdk.ExposeRequest {
	return sdk.ExposeRequest{Name: "model_tools", Interface: sdk.Interface{
		Doc: "Tools for one model: what <it> \"sees\". More follows.\n\nAnd in detail.",
		Functions: []sdk.Function{
			{Name: "embed", Doc: "Embed a text.\n\n    In one go.", Returns: "np.ndarray",
				InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`),
				Params:      []sdk.Param{{Name: "text", Kind: sdk.PositionalOrKeyword, Annotation: "str"}}},
			{Name: "reset", Async: true},
		},
	}}
}

func expose(t *testing.T, req sdk.ExposeRequest) (sdk.Surface, map[string]string) {
	t.Helper()
	s, err := Mode{}.Expose(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range s.Files {
		if !fs.ValidPath(f.Path) || path.Clean(f.Path) != f.Path {
			t.Errorf("path %q", f.Path)
		}
		files[f.Path] = f.Text
	}
	return s, files
}

func TestGolden(t *testing.T) {
	s, files := expose(t, request())
	for file, text := range map[string]string{
		"SKILL.md": files[".claude/skills/model-tools/SKILL.md"], "functions.md": files[".claude/skills/model-tools/references/functions.md"],
		"prompt.md": s.Prompt,
	} {
		testkit.Golden(t, *update, "testdata/"+file+".golden", text)
	}
	for _, name := range []string{"__init__.py", "_client.py", "connection.json", "py.typed"} {
		if _, ok := files[".claude/skills/model-tools/scripts/model_tools/"+name]; !ok {
			t.Errorf("no %s of the library", name)
		}
	}
	if files[".claude/skills/model-tools/.gitignore"] != "connection.json\n" {
		t.Error("the token could be committed")
	}
}

// frontMatter reads what agents read, by the rules of agentskills.io.
func frontMatter(t *testing.T, file, text string) (name, description string) {
	t.Helper()
	head, _, ok := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
	var m map[string]string
	if err := yaml.Unmarshal([]byte(head), &m); err != nil || !ok {
		t.Fatalf("%v: %s", err, text)
	}
	if !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(m["name"]) || len(m["name"]) > 64 || m["name"] != path.Base(path.Dir(file)) || len(m) != 2 {
		t.Errorf("%s: %q", file, m)
	}
	if d := m["description"]; d == "" || len([]rune(d)) > 1024 || strings.ContainsAny(d, "<>\n") {
		t.Errorf("description %q", d)
	}
	return m["name"], m["description"]
}

func TestFrontMatter(t *testing.T) {
	many := request()
	for range 300 {
		many.Interface.Functions = append(many.Interface.Functions, sdk.Function{Name: "f" + strings.Repeat("x", len(many.Interface.Functions))})
	}
	odd := request()
	odd.Name, odd.Interface.Doc = "_Ünder__Score9_", "a: \"b\"\n---\n# \\ ' {x} \u2028 é."
	empty := sdk.ExposeRequest{Name: "t"}
	mine := request()
	mine.Options = json.RawMessage(`{"dir":"skills/","description":"Use: 'when'\n <b>asked</b>."}`)
	for name, test := range map[string]struct {
		req         sdk.ExposeRequest
		file, words string
	}{
		"plain": {request(), ".claude/skills/model-tools/SKILL.md", `Tools for one model: what it "sees". Use when`},
		"many":  {many, ".claude/skills/model-tools/SKILL.md", "…"},
		"odd":   {odd, ".claude/skills/nder-score9/SKILL.md", `a: "b" --- # \ ' {x}`},
		"empty": {empty, ".claude/skills/t/SKILL.md", "Use when"},
		"mine":  {mine, "skills/model-tools/SKILL.md", "Use: 'when' basked/b."},
	} {
		t.Run(name, func(t *testing.T) {
			s, files := expose(t, test.req)
			_, description := frontMatter(t, test.file, files[test.file])
			if !strings.Contains(description, test.words) || !strings.Contains(s.Prompt, description) {
				t.Errorf("%q in %q", description, s.Prompt)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for name, options := range map[string]string{
		"é": ``, strings.Repeat("x", 65): ``, "not-python": ``, "a": `{"dir":"../x"}`, "b": `{"dir":".claude"}`, "c": `{"color":1}`, "d": `[]`, "e": `{"dir":1}`,
	} {
		req := sdk.ExposeRequest{Name: name, Options: json.RawMessage(options)}
		if _, err := (Mode{}).Expose(t.Context(), req); sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("%q %s: %v", name, options, err)
		}
	}
}

func FuzzFrontMatter(f *testing.F) {
	f.Add("tools", "Doc.", "")
	f.Add("a__B", "---\n: #", "Use it.")
	f.Fuzz(func(t *testing.T, name, doc, description string) {
		options, err := json.Marshal(map[string]string{"description": description})
		if err != nil {
			t.Skip("no text")
		}
		s, err := Mode{}.Expose(t.Context(), sdk.ExposeRequest{Name: name, Interface: sdk.Interface{Doc: doc}, Options: options})
		if err != nil {
			return
		}
		frontMatter(t, s.Files[0].Path, s.Files[0].Text)
	})
}
