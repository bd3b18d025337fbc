package profile

import (
	"embed"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/internal/yamldoc"
	"github.com/seer-engine/seer/sdk"
)

//go:embed profiles/*.yaml
var own embed.FS

const ending = ".yaml"

var (
	keys = []string{"title", "program", "install", "minimum", "version", "driver", "args", "env", "files",
		"api", "upstream", "key", "header", "model_required"}
	drivers = []string{"claude", "codex", "acp", "lines"}
	apis    = []string{"anthropic", "responses", "chat", "gemini"}
	headers = []string{"x-api-key", "authorization", "x-goog-api-key", "api-key"}

	namePattern    = lazyregexp.New(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	envPattern     = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	versionPattern = lazyregexp.New(`^\d+(\.\d+){0,2}$`)
)

// Load finds the profile of a name: NAME.yaml in one of dirs, the first wins, else Seer's own.
// The error of a file wraps all its mistakes, a yamldoc.Errors.
func Load(name string, dirs ...string) (*Profile, error) {
	if !namePattern().MatchString(name) {
		return nil, sdk.Errorf(sdk.Invalid, "the agent %.100q has no name of a profile; use lower-case letters, digits, - and _", name)
	}
	for _, dir := range dirs {
		file := filepath.Join(dir, name+ending)
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, sdk.Errorf(sdk.Invalid, "the profile of the agent %s cannot be read: %v", name, err)
		}
		p, err := Parse(name, file, data)
		if err != nil {
			return nil, invalid{err}
		}
		p.File = file
		return p, nil
	}
	data, err := own.ReadFile("profiles/" + name + ending)
	if err != nil {
		return nil, sdk.Errorf(sdk.NotFound, "there is no profile of the agent %q; known are %s", name, strings.Join(Names(dirs...), ", "))
	}
	return Parse(name, name+ending, data)
}

// Mistakes are the texts of an error of [Load], each with its file and line; of any other error, it
// is the only one.
func Mistakes(err error) (texts []string) {
	var all yamldoc.Errors
	if !errors.As(err, &all) {
		return []string{err.Error()}
	}
	for _, m := range all {
		texts = append(texts, m.Error())
	}
	return texts
}

// invalid is an error with the code sdk.Invalid that keeps the mistakes.
type invalid struct{ error }

func (e invalid) Unwrap() error { return e.error }

// As makes it an error with the code.
func (e invalid) As(target any) bool {
	to, ok := target.(**sdk.Error)
	if ok {
		*to = sdk.Errorf(sdk.Invalid, "%v", e.error)
	}
	return ok
}

// Names lists the profiles that [Load] finds, sorted.
func Names(dirs ...string) []string {
	seen := map[string]bool{}
	add := func(entries []fs.DirEntry) {
		for _, e := range entries {
			if name, ok := strings.CutSuffix(e.Name(), ending); ok && namePattern().MatchString(name) {
				seen[name] = true
			}
		}
	}
	entries, _ := own.ReadDir("profiles") // cannot fail: the folder is embedded
	add(entries)
	for _, dir := range dirs {
		entries, _ := os.ReadDir(dir) // an absent folder has no profiles
		add(entries)
	}
	return sortedKeys(seen)
}

// Parse reads a profile. Mistakes name file.
func Parse(name, file string, data []byte) (*Profile, error) {
	r := &reader{Document: yamldoc.Document{File: file}}
	root := r.NonEmptyRoot(data, "at least `program:` and `driver:`")
	if root == nil {
		return nil, r.Err()
	}
	f := r.Fields(root, "profile", keys)
	p := &Profile{
		Name: name, Title: r.Text(f["title"], "title"), Program: r.Text(f["program"], "program"), Install: r.Text(f["install"], "install"),
		Minimum: r.Text(f["minimum"], "minimum"), VersionArgs: r.List(f["version"], "version"), Keys: r.List(f["key"], "key"),
		Driver: r.oneOf(f["driver"], "driver", drivers), API: r.oneOf(f["api"], "api", apis), Header: r.oneOf(f["header"], "header", headers),
		Upstream: strings.TrimSuffix(r.Text(f["upstream"], "upstream"), "/"), ModelRequired: r.flag(f["model_required"], "model_required"),
		args: r.args(f["args"]), env: r.mapping(f["env"], "env"), files: r.mapping(f["files"], "files"),
	}
	if p.Title == "" {
		p.Title = name
	}
	r.check(root, f, p)
	if err := r.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

type reader struct{ yamldoc.Document }

func (r *reader) check(root *yaml.Node, f map[string]*yaml.Node, p *Profile) {
	for _, key := range []string{"program", "driver"} {
		if f[key] == nil {
			r.At(root.Line, "%s: missing", key)
		}
	}
	switch {
	case f["program"] == nil:
	case p.Program == "", strings.Contains(p.Program, "/") && !filepath.IsAbs(p.Program):
		r.At(f["program"].Line, "program: %q is neither a name nor an absolute path", p.Program)
	}
	if p.Minimum != "" && !versionPattern().MatchString(p.Minimum) {
		r.At(f["minimum"].Line, "minimum: %q is no version; write it in quotes, as in \"2.1.0\"", p.Minimum)
	}
	if p.Upstream != "" {
		if u, err := url.Parse(p.Upstream); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.RawQuery != "" || u.User != nil {
			r.At(f["upstream"].Line, "upstream: %q is no base URL; write https://HOST/PATH", p.Upstream)
		}
	}
	for _, key := range p.Keys {
		if !envPattern().MatchString(key) {
			r.At(f["key"].Line, "key: %q is no name of an environment variable", key)
		}
	}
	for _, t := range p.env {
		if !envPattern().MatchString(t.key) {
			r.At(t.line, "env: %q is no name of an environment variable", t.key)
		}
	}
	for _, t := range p.files {
		if !filepath.IsLocal(t.key) || t.key == "." {
			r.At(t.line, "files: %q does not stay below the agent's home", t.key)
		}
	}
}

func (r *reader) oneOf(n *yaml.Node, what string, known []string) string {
	text := r.Text(n, what)
	if n != nil && !slices.Contains(known, text) {
		r.At(n.Line, "%s: %q is unknown; %s", what, text, yamldoc.Suggest(text, known))
	}
	return text
}

func (r *reader) flag(n *yaml.Node, what string) bool {
	if n == nil {
		return false
	}
	if n.ShortTag() != "!!bool" {
		r.At(n.Line, "%s: neither true nor false", what)
	}
	return n.Value == "true"
}

func (r *reader) args(n *yaml.Node) []*tmpl {
	var out []*tmpl
	r.List(n, "args")
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	for _, item := range n.Content {
		out = append(out, r.template(item, "args", ""))
	}
	return out
}

func (r *reader) mapping(n *yaml.Node, what string) []*tmpl {
	if n == nil {
		return nil
	}
	fields := r.Fields(n, what, nil)
	var out []*tmpl
	for _, key := range sortedKeys(fields) {
		out = append(out, r.template(fields[key], what+"."+key, key))
	}
	return out
}

// template parses a text and executes it once, so that loading finds unknown names.
func (r *reader) template(n *yaml.Node, what, key string) *tmpl {
	t := &tmpl{what: what, key: key, file: r.File, line: n.Line, block: n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0}
	err := t.parse(r.Text(n, what))
	for _, data := range []Data{{}, example} {
		if err == nil {
			_, err = t.render(data)
		}
	}
	if wrong := (*mistake)(nil); errors.As(err, &wrong) {
		r.At(wrong.line, "%s", wrong.text)
	}
	return t
}

// example has a value in each field.
var example = Data{
	Model: "m", ModelURL: "http://127.0.0.1:1", Upstream: "https://model.example", Token: "t",
	Servers: []Server{{Name: "s", Command: "/usr/bin/s", Args: []string{"a"}, Env: map[string]string{"E": "v"}}},
	MCPFile: "/home/agent/mcp.json", Prompt: "p", PromptFile: "/home/agent/prompt.md", Workspace: "/work", Home: "/home/agent",
	MaxTurns: 1, Tools: []string{"t"}, AsRoot: true,
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for key := range m {
		out = append(out, key)
	}
	slices.Sort(out)
	return out
}
