package host

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

var (
	yamlLine  = lazyregexp.New(`^(?:yaml: )?line (\d+): `)
	wrongType = lazyregexp.New("^cannot unmarshal (!!\\w+)(?: `((?s:.*))`)? into (.+)$")
	noSuchKey = lazyregexp.New(`^field (.+) not found in type sdk\.(\w+)$`)
)

// sections are what the parser's types are to an author.
func sections() map[string]string {
	return map[string]string{
		"Manifest": "a key of a manifest", "Permissions": "a permission that there is", "PluginLimits": "a limit that there is",
		"HTTPPermission": "a key of an http permission", "GRPCPermission": "a key of a grpc permission", "SSHPermission": "a key of an ssh permission", "KubePermission": "a key of a kube permission", "CommandPermission": "a key of a commands permission",
		"EnvPermission": "a key of an env permission", "FilePermission": "a key of a files permission", "Profile": "a key of profile",
		"Setting": "a key of a setting", "Secret": "a key of a secret", "Binding": "a key of bind", "Capture": "a key of a capture",
	}
}

// yamlErrors puts the parser's messages into the form file:line: what, in the words of
// the file and not of the program. root may be nil.
func yamlErrors(file string, err error, root *yaml.Node) []error {
	lines := []string{err.Error()}
	var typed *yaml.TypeError
	if errors.As(err, &typed) {
		lines = typed.Errors
	}
	var errs []error
	for _, l := range lines {
		at := 1
		if m := yamlLine().FindStringSubmatch(l); m != nil {
			at, _ = strconv.Atoi(m[1])
			l = l[len(m[0]):]
		}
		errs = append(errs, fmt.Errorf("%s:%d: %s", file, at, oneLine(plainMistake(strings.TrimPrefix(l, "yaml: "), at, root))))
	}
	return errs
}

// cannotRead notes what the parser says. Where a key is there twice, nothing of its
// mapping was read, and it is no use to look at the rest.
func (c *checker) cannotRead(err error) (rest bool) {
	var typed *yaml.TypeError
	rest = errors.As(err, &typed)
	c.errs = yamlErrors(c.file, err, c.root)
	for _, err := range c.errs {
		number, text, _ := strings.Cut(strings.TrimPrefix(err.Error(), c.file+":"), ":")
		if line, err := strconv.Atoi(number); err == nil {
			c.unread[line] = strings.HasPrefix(text, " field ")
		}
		rest = rest && !strings.HasPrefix(text, " mapping key ")
	}
	return rest
}

// follows reports whether a problem at a line, or one of a mapping as a whole, comes from
// what could not be read: the author is told of causes.
func (c *checker) follows(n *yaml.Node, line int, text string) bool {
	if _, ok := c.unread[line]; ok {
		return true
	}
	elsewhere := strings.HasPrefix(text, "no permission ") || strings.HasPrefix(text, "there is no setting ") || strings.HasPrefix(text, "the manifest names no ")
	if elsewhere && len(c.unread) > 0 {
		return true
	}
	if n.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		typo, ok := c.unread[n.Content[i].Line]
		if ok && (typo || !strings.HasPrefix(text, "missing")) {
			return true
		}
	}
	return false
}

func plainMistake(text string, line int, root *yaml.Node) string {
	if m := noSuchKey().FindStringSubmatch(text); m != nil {
		if what, ok := sections()[m[2]]; ok {
			return "field " + m[1] + " is not " + what
		}
	}
	m := wrongType().FindStringSubmatch(text)
	if m == nil {
		return text
	}
	tag, value := m[1], strings.TrimSuffix(m[2], "...") // long values are cut off
	if key := keyOf(root, "", line, tag, value); key != "" {
		return key + ": must be " + formOf(m[3], m[2])
	}
	return "what is here must be " + formOf(m[3], m[2])
}

// formOf is what a type is in the file. An author who wrote a value where a list of them
// is wanted sees it as one.
func formOf(goType, value string) string {
	switch {
	case goType == "[]string" && value != "" && !strings.HasSuffix(value, "...") && !strings.ContainsAny(value, ",:[]{}#&*!|>'\"%@`\n"):
		return "a list, like [" + value + "]"
	case goType == "[]string":
		return "a list of texts"
	case strings.HasPrefix(goType, "[]"):
		return "a list, whose entries begin with `- `"
	case goType == "string":
		return "a text"
	case goType == "bool":
		return "true or false"
	case strings.HasPrefix(goType, "int"):
		return "a whole number"
	case strings.HasPrefix(goType, "float"):
		return "a number"
	default:
		return "a mapping, `key: value` on lines of its own"
	}
}

// keyOf is the place, like permissions.http.0.methods, of a value at a line.
func keyOf(n *yaml.Node, at string, line int, tag, value string) string {
	if n == nil {
		return ""
	}
	if at != "" && n.Line == line && n.ShortTag() == tag && (n.Kind != yaml.ScalarNode || strings.HasPrefix(n.Value, value)) {
		return at
	}
	step := 1
	if n.Kind == yaml.MappingNode {
		step = 2
	}
	for i := step - 1; i < len(n.Content); i += step {
		name := strconv.Itoa(i)
		if step == 2 {
			name = n.Content[i-1].Value
		}
		if found := keyOf(n.Content[i], strings.TrimPrefix(at+"."+name, "."), line, tag, value); found != "" {
			return found
		}
	}
	return ""
}
