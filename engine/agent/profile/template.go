package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/internal/yamldoc"
	"github.com/seer-engine/seer/sdk"
)

// longestText limits the bytes of one template's result.
const longestText = 1 << 20

// tmpl is a template in a profile.
type tmpl struct {
	what   string // place in the profile, such as args[2] or env.NAME
	key    string // key in a mapping
	file   string
	line   int  // first line of the text in file
	block  bool // the text begins on the line after line
	parsed *template.Template
}

var functions = template.FuncMap{
	"json": jsonValue,
	"toml": tomlValue,
	"join": func(sep string, list []string) string { return strings.Join(list, sep) },
	"mcp":  mcpServers,
}

// mcpServers returns servers in the form that many programs read: {NAME: {command, args, env, …}}.
// more has further fields for each server.
func mcpServers(servers []Server, more ...string) (map[string]map[string]any, error) {
	out := map[string]map[string]any{}
	for _, s := range servers {
		one := map[string]any{}
		for _, fields := range more {
			if err := json.Unmarshal([]byte(fields), &one); err != nil {
				return nil, fmt.Errorf("%q is no JSON object: %w", fields, err)
			}
		}
		one["command"], one["args"] = s.Command, append([]string{}, s.Args...)
		if len(s.Env) > 0 {
			one["env"] = s.Env
		}
		out[s.Name] = one
	}
	return out, nil
}

// MCPFile returns the content of [Data.MCPFile]: {"mcpServers": …}. Lists of arguments are never
// null, because Claude Code silently ignores a server with such a list.
func MCPFile(servers []Server) string {
	all, _ := mcpServers(servers)                           // only further fields can cause an error
	text, _ := jsonValue(map[string]any{"mcpServers": all}) // strings always have a JSON form
	return text
}

func jsonValue(v any) (string, error) {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(out.String(), "\n"), err
}

// tomlValue writes a text, a list of texts, or a mapping of texts as a TOML value.
func tomlValue(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return tomlText(v), nil
	case []string:
		all := make([]string, len(v))
		for i, item := range v {
			all[i] = tomlText(item)
		}
		return "[" + strings.Join(all, ", ") + "]", nil
	case map[string]string:
		var all []string
		for _, key := range sortedKeys(v) {
			all = append(all, tomlText(key)+" = "+tomlText(v[key]))
		}
		return "{" + strings.Join(all, ", ") + "}", nil
	}
	return "", fmt.Errorf("toml takes a text, a list of texts or a mapping of texts, not %T", v)
}

// tomlText returns a basic string of TOML. It has the escapes of JSON, and one more character to
// escape.
func tomlText(s string) string {
	text, _ := jsonValue(s) // a string always has a JSON form
	return strings.ReplaceAll(text, "\u007f", `\u007f`)
}

func (t *tmpl) parse(text string) error {
	var err error
	t.parsed, err = template.New(t.what).Funcs(functions).Parse(text)
	return t.located(err)
}

func (t *tmpl) render(data Data) (string, error) {
	out := &bounded{}
	err := t.parsed.Execute(out, data)
	return out.String(), t.located(err)
}

var templateLine = lazyregexp.New(`^template: .*?:(\d+)(?::\d+)?: (?:executing "[^"]*" at )?`)

// located adds the line in the profile to the mistake of a template.
func (t *tmpl) located(err error) error {
	if err == nil {
		return nil
	}
	text, line := err.Error(), t.line
	if m := templateLine().FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		if n, _ := strconv.Atoi(m[1]); t.block {
			line += n
		}
	}
	if errors.Is(err, errTooLong) {
		text = errTooLong.Error()
	}
	return &mistake{file: t.file, line: line, text: t.what + ": " + plain(text)}
}

var (
	unknownFunction = lazyregexp.New(`^function "([^"]*)" not defined$`)
	unknownValue    = lazyregexp.New(`^<.*>: can't evaluate field (\S+) in type profile\.(Data|Server)$`)
)

// plain is what a template says of an unknown name, with the one that was probably meant.
func plain(text string) string {
	if m := unknownFunction().FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("unknown function %q; %s", m[1], yamldoc.Suggest(m[1], sortedKeys(functions)))
	}
	if m := unknownValue().FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("unknown value %q; %s", "."+m[1], yamldoc.Suggest("."+m[1], valuesOf(m[2])))
	}
	return text
}

// valuesOf are the names that a template may use of a type.
func valuesOf(name string) (names []string) {
	of := reflect.TypeFor[Data]()
	if name == reflect.TypeFor[Server]().Name() {
		of = reflect.TypeFor[Server]()
	}
	for i := range of.NumField() {
		names = append(names, "."+of.Field(i).Name)
	}
	return names
}

// mistake is the error of a wrong template.
type mistake struct {
	file string
	line int
	text string
}

func (m *mistake) Error() string { return fmt.Sprintf("%s:%d: %s", m.file, m.line, m.text) }

// As gives the error the code sdk.Invalid.
func (m *mistake) As(target any) bool {
	to, ok := target.(**sdk.Error)
	if ok {
		*to = sdk.Errorf(sdk.Invalid, "%v", m)
	}
	return ok
}

func (t *tmpl) uses(field string) bool {
	return regexp.MustCompile(`\.` + regexp.QuoteMeta(field) + `\b`).MatchString(t.parsed.Root.String())
}

var errTooLong = fmt.Errorf("the text is longer than %d KiB", longestText>>10)

// bounded limits the memory of a template with a loop.
type bounded struct{ strings.Builder }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > longestText {
		return 0, errTooLong
	}
	return b.Builder.Write(p)
}

var _ io.Writer = (*bounded)(nil)
