package host

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// surface checks what an expose mode asks for.
func (c *checker) surface(m sdk.Manifest) {
	p := m.Permissions
	if len(p.Commands)+len(p.Env)+len(p.Files) > 0 && !slices.ContainsFunc(m.Implements, func(s string) bool { return strings.HasPrefix(s, string(sdk.KindExpose)+"/") }) {
		c.at("permissions", "commands, env and files are for expose modes")
	}
	for i, one := range p.Commands {
		at := fmt.Sprintf("permissions.commands.%d", i)
		c.reason(at, one.Reason)
		if !plainWord(one.Command) || one.Command == sdk.PlaceholderSeer {
			c.at(at+".command", fmt.Sprintf("%q is not the name or path of a program, without spaces and arguments; seer itself needs no permission", one.Command))
		}
	}
	for i, one := range p.Env {
		at := fmt.Sprintf("permissions.env.%d", i)
		c.reason(at, one.Reason)
		c.some(at+".names", one.Names, "list variables, like [PYTHONPATH]")
		for n, name := range one.Names {
			if !variableName().MatchString(name) || freeVariable(name) {
				c.at(fmt.Sprintf("%s.names.%d", at, n), fmt.Sprintf("%q is not a name of a variable that needs a permission", name))
			}
		}
	}
	for i, one := range p.Files {
		at := fmt.Sprintf("permissions.files.%d", i)
		c.reason(at, one.Reason)
		c.some(at+".paths", one.Paths, "list patterns, like [.claude/skills/**]")
		for n, pattern := range one.Paths {
			if why := filePattern(pattern); why != "" {
				c.at(fmt.Sprintf("%s.paths.%d", at, n), fmt.Sprintf("%q %s", pattern, why))
			}
		}
	}
}

func (c *checker) reason(at, reason string) {
	if strings.TrimSpace(reason) == "" {
		c.at(at+".reason", "missing; tell the user why the plugin needs it")
	}
}

func (c *checker) some(at string, list []string, how string) {
	if len(list) == 0 {
		c.at(at, "missing; "+how)
	}
}

// filePattern tells what is wrong with a pattern of files that need a permission.
func filePattern(pattern string) string {
	rest := strings.TrimSuffix(pattern, "/**")
	parts := strings.Split(rest, "/")
	switch {
	case !plainWord(pattern):
		return "is not a pattern of a path in plain ASCII, without spaces"
	case strings.Contains(rest, "**"):
		return "has ** elsewhere than as the last part"
	case slices.Contains(parts, "") || slices.Contains(parts, ".") || slices.Contains(parts, ".."):
		return "is not a pattern of a plain relative path"
	}
	if _, err := path.Match(rest, ""); err != nil {
		return "is not a pattern: brackets and backslashes must be complete"
	}
	return ""
}

// plainWord reports whether a text can be a word of a permission's line.
func plainWord(s string) bool {
	return s != "" && len(s) <= maxSurfacePath && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// texts refuses what could not be shown to people as it stands. Documentation may have
// several lines.
func (c *checker) texts(at string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			c.texts(at, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
			c.texts(strings.TrimPrefix(at+"."+key, "."), v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			c.texts(fmt.Sprintf("%s.%d", at, i), v.Index(i))
		}
	case reflect.String:
		text := v.String()
		if strings.HasSuffix(at, ".doc") || strings.HasSuffix(at, ".reason") || at == "description" {
			text = strings.ReplaceAll(strings.TrimSpace(text), "\n", " ")
		}
		if oneLine(text) != text {
			c.at(at, "holds control characters or marks of direction; write plain text")
		}
	}
}
