// Package skill is the expose mode that makes an agent skill (agentskills.io): a
// folder with a SKILL.md that agents find by themselves, the library that makes the
// calls, and the functions' documentation, to be read when it is needed.
package skill

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/seer-engine/seer/plugins/expose-library/library"
	"github.com/seer-engine/seer/plugins/expose-prompt/prompt"
	"github.com/seer-engine/seer/plugins/internal/python"
	"github.com/seer-engine/seer/sdk"
)

// Mode implements [sdk.Exposer].
type Mode struct{}

const (
	longestName        = 64   // characters; agents leave out a skill that has more
	longestDescription = 1024 // the same
)

// options are the user's.
type options struct {
	Dir         string `json:"dir"`         // where agents look; default .claude/skills
	Description string `json:"description"` // when to use it; default from the interface
}

// Expose makes the folder <dir>/<name>, with hyphens for underscores.
func (Mode) Expose(ctx context.Context, req sdk.ExposeRequest) (sdk.Surface, error) {
	o, err := parse(req.Options)
	if err != nil {
		return sdk.Surface{}, err
	}
	name, err := nameOf(req.Name)
	if err != nil {
		return sdk.Surface{}, err
	}
	lib, err := library.Mode{}.Expose(ctx, sdk.ExposeRequest{Name: req.Name, Interface: req.Interface})
	if err != nil {
		return sdk.Surface{}, err
	}
	s := skill{req: req, name: name, folder: o.Dir + "/" + name, description: o.Description, library: lib.Prompt}
	out := sdk.Surface{Prompt: s.prompt(), Files: []sdk.SurfaceFile{
		{Path: s.folder + "/SKILL.md", Text: s.document()},
		{Path: s.folder + "/references/functions.md", Text: s.reference()},
		{Path: s.folder + "/.gitignore", Text: "connection.json\n"},
	}}
	for _, f := range lib.Files {
		f.Path = s.folder + "/scripts/" + f.Path
		out.Files = append(out.Files, f)
	}
	return out, nil
}

func parse(raw json.RawMessage) (options, error) {
	o := options{Dir: ".claude/skills"}
	if len(raw) == 0 || string(raw) == "null" {
		return o, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return o, sdk.Errorf(sdk.Invalid, "the options of a skill are dir and description, both texts: %v", err)
	}
	switch o.Dir = strings.TrimSuffix(o.Dir, "/"); o.Dir {
	case ".claude/skills", ".agents/skills", "skills":
		return o, nil
	}
	return o, sdk.Errorf(sdk.Invalid, "agents do not look for skills in %q; `dir` is .claude/skills (Claude Code, opencode), .agents/skills (Codex, Gemini CLI, opencode) or skills", o.Dir)
}

var notOfName = regexp.MustCompile(`[^a-z0-9]+`)

// nameOf makes a skill's name of a library's: small letters, digits and single hyphens.
func nameOf(name string) (string, error) {
	out := strings.Trim(notOfName.ReplaceAllString(strings.ToLower(name), "-"), "-")
	if out == "" || len(out) > longestName {
		return "", sdk.Errorf(sdk.Invalid, "%q makes no name of a skill, which has 1 to %d letters of a to z, digits and hyphens; choose another `name:`", name, longestName)
	}
	return out, nil
}

type skill struct {
	req                                sdk.ExposeRequest
	name, folder, description, library string
}

// about says what the skill does and when to use it: all that an agent sees of it until
// it is needed. It is one line without tags.
func (s skill) about() string {
	text := oneLine(s.description)
	if text == "" {
		text = first(s.req.Interface.Doc)
		if text == "" {
			text = "Functions that run in a model sandbox."
		}
		var names []string
		for _, f := range s.req.Interface.Functions {
			names = append(names, f.Name)
		}
		text += " Use when a task needs these functions, which run in a sandbox, or the Python library " + s.req.Name + ": " + strings.Join(names, ", ") + "."
		text = oneLine(text)
	}
	if runes := []rune(text); len(runes) > longestDescription {
		text = string(runes[:longestDescription-1]) + "…"
	}
	return text
}

func oneLine(text string) string {
	text = strings.NewReplacer("<", "", ">", "").Replace(strings.ToValidUTF8(text, ""))
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// first is the first sentence of a documentation, or its first paragraph.
func first(doc string) string {
	paragraph, _, _ := strings.Cut(python.CleanDoc(doc), "\n\n")
	text := strings.Join(strings.Fields(paragraph), " ")
	if at := strings.Index(text, ". "); at >= 0 {
		text = text[:at+1]
	}
	return text
}

func (s skill) document() string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\nname: %s\ndescription: %s\n---\n\n# %s\n\n", s.name, quoted(s.about()), s.req.Name)
	if doc := python.CleanDoc(s.req.Interface.Doc); doc != "" {
		fmt.Fprintf(&b, "%s\n\n", doc)
	}
	fmt.Fprintf(&b, "## From Python\n\n%s\n", s.library)
	fmt.Fprintf(&b, "The library is in `scripts/` beside this file. It needs Python 3.8 or later and nothing else. From the folder that has `%s`:\n\n", s.folder)
	fmt.Fprintf(&b, "```sh\nPYTHONPATH=%s/scripts python3 -c 'import %s; help(%[2]s)'\n```\n\n", s.folder, s.req.Name)
	if functions := s.req.Interface.Functions; len(functions) > 0 {
		b.WriteString("## What each does\n\n")
		for _, f := range functions {
			line := "- `" + f.Name + "`"
			if doc := first(f.Doc); doc != "" {
				line += ": " + doc
			}
			b.WriteString(line + "\n")
		}
		b.WriteString("\nRead [references/functions.md](references/functions.md) before the first call of a function: its whole documentation, and the JSON Schema of arguments and result.\n\n")
		fmt.Fprintf(&b, "## From a shell\n\nWhere the program `seer` is, without Python:\n\n```sh\nseer call --connection %s/scripts/%s/connection.json %s NAME=VALUE\n```\n\n", s.folder, s.req.Name, functions[0].Name)
		b.WriteString("Values are JSON, or plain text where that is not JSON; the result is printed as JSON. A failure gives the function's own error and a non-zero exit code.\n")
	}
	return b.String()
}

func (s skill) reference() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The functions of %s\n\n", s.req.Name)
	for _, f := range s.req.Interface.Functions {
		fmt.Fprintf(&b, "- %s\n", f.Name)
	}
	return b.String() + "\n" + prompt.Functions(s.req.Interface.Functions)
}

// prompt is for agents that do not look for skills.
func (s skill) prompt() string {
	return fmt.Sprintf("The skill `%s` (`%s/%s/SKILL.md`) tells how to call functions in a model sandbox: %s\n", s.name, sdk.PlaceholderDir, s.folder, s.about())
}

// quoted is a text as YAML and JSON both write it.
func quoted(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a text can be encoded
	return strings.TrimSpace(b.String())
}
