package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/seer-engine/seer/engine/plugin/host/egress"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

const maxManifest = 64 << 10

var (
	idPattern       = lazyregexp.New(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	providesPattern = lazyregexp.New(`^[a-z][a-z0-9_-]*$`)
	versionPattern  = lazyregexp.New(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	contractPattern = lazyregexp.New(`^([a-z]+)/(\d+)$`)
)

var errVersion = errors.New("contract version")

// parseManifest reads a manifest strictly. Every problem is reported, as
// "file:line: what", joined.
func parseManifest(file string, text []byte, limits Limits) (sdk.Manifest, error) {
	var m sdk.Manifest
	if len(text) > maxManifest {
		return m, fmt.Errorf("%s: longer than %d KiB", file, maxManifest>>10)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return m, errors.Join(yamlErrors(file, err, nil)...)
	}
	if doc.Kind == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return m, fmt.Errorf("%s:1: a manifest is a mapping that begins with `id: <plugin-id>`", file)
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	c := checker{file: file, root: doc.Content[0], unread: map[int]bool{}}
	if err := dec.Decode(&m); err != nil && !errors.Is(err, io.EOF) {
		if rest := c.cannotRead(err); !rest {
			return m, errors.Join(c.errs...)
		}
	}
	c.manifest(m, limits)
	return m, errors.Join(c.errs...)
}

// checker collects problems at the line of the key they are about.
type checker struct {
	file string
	root *yaml.Node
	errs []error

	unread map[int]bool // lines that could not be read; true = their key is unknown
}

func (c *checker) manifest(m sdk.Manifest, limits Limits) {
	c.match("id", m.ID, idPattern(), "small letters, digits and hyphens, like fetch-acme")
	c.match("version", m.Version, versionPattern(), "three numbers, like 1.0.2")
	if len(m.Implements) == 0 {
		c.add("implements", "missing; say what the plugin is, like [provider/%d]", sdk.ContractVersion)
	}
	for _, contract := range m.Implements {
		c.contract(contract)
	}
	if len(m.Provides) == 0 {
		c.add("provides", "missing; list the values of `provider:`, the model sources or the `expose_as:` values")
	}
	for _, name := range m.Provides {
		c.match("provides", name, providesPattern(), "small letters, digits, _ and -")
	}
	c.defaultFor(m)
	for _, p := range egress.Check(m) {
		c.at(p.At, p.Text)
	}
	c.surface(m)
	c.texts("", reflect.ValueOf(m))
	if got, limit := m.Limits.MemoryMB, limits.MaxMemoryMB; got < 0 || got > limit {
		c.add("memory_mb", "%d is not between 0 and this host's limit of %d", got, limit)
	}
	if got, limit := m.Limits.CallSeconds, limits.CallTime.Seconds(); !(got >= 0 && got <= limit) {
		c.add("call_seconds", "%v is not between 0 and this host's limit of %v", got, limit)
	}
	if got, limit := m.Limits.StepSeconds, limits.StepTime.Seconds(); !(got >= 0 && got <= limit) {
		c.add("step_seconds", "%v is not between 0 and this host's limit of %v", got, limit)
	}
}

func (c *checker) defaultFor(m sdk.Manifest) {
	provider := slices.ContainsFunc(m.Implements, func(s string) bool { return strings.HasPrefix(s, string(sdk.KindProvider)+"/") })
	if len(m.DefaultFor) > 0 && !provider {
		c.add("default_for", "is for providers")
	}
	for _, what := range m.DefaultFor {
		if what != sdk.DefaultForGPU {
			c.add("default_for", "%q is not known; there is %s", what, sdk.DefaultForGPU)
		}
	}
}

func (c *checker) contract(contract string) {
	parts := contractPattern().FindStringSubmatch(contract)
	switch {
	case parts == nil:
		c.add("implements", "%q is not a contract; there are provider/%d, fetcher/%[2]d and expose/%[2]d", contract, sdk.ContractVersion)
	case sdk.Kind(parts[1]).Exports() == nil:
		c.add("implements", "unknown contract %q; there are provider/%d, fetcher/%[2]d and expose/%[2]d", contract, sdk.ContractVersion)
	case parts[2] != fmt.Sprint(sdk.ContractVersion):
		c.errs = append(c.errs, fmt.Errorf("%s:%d: %w: needs %s, this seer speaks %s/%d; use a version of the plugin made for it",
			c.file, c.line("implements"), errVersion, contract, parts[1], sdk.ContractVersion))
	}
}

func (c *checker) match(key, value string, pattern *regexp.Regexp, form string) {
	switch {
	case value == "":
		c.add(key, "missing; it is %s", form)
	case len(value) > 64 || !pattern.MatchString(value):
		c.add(key, "%q is not of the form: %s", value, form)
	}
}

func (c *checker) add(key, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	n := findKey(c.root, key)
	if n == nil {
		n = c.root
	}
	if !c.follows(n, n.Line, text) {
		c.errs = append(c.errs, fmt.Errorf("%s:%d: %s: %s", c.file, n.Line, key, text))
	}
}

// at reports a problem at a place like permissions.http.0.reason, or at what is
// nearest to it in the file.
func (c *checker) at(place, text string) {
	n, line := c.root, c.root.Line
	for _, part := range strings.Split(place, ".") {
		key, value := child(n, part)
		if value == nil {
			break
		}
		n, line = value, key.Line
	}
	if !c.follows(n, line, text) {
		c.errs = append(c.errs, fmt.Errorf("%s:%d: %s: %s", c.file, line, place, text))
	}
}

// child is an entry of a mapping, or an element of a sequence.
func child(n *yaml.Node, name string) (key, value *yaml.Node) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch i, err := strconv.Atoi(name); {
	case n.Kind == yaml.SequenceNode && err == nil && i < len(n.Content):
		return n.Content[i], n.Content[i]
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				return n.Content[i], n.Content[i+1]
			}
		}
	}
	return nil, nil
}

// line finds a key anywhere in the manifest: its keys are unique.
func (c *checker) line(key string) int {
	if n := findKey(c.root, key); n != nil {
		return n.Line
	}
	return c.root.Line
}

func findKey(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i]
		}
		if found := findKey(n.Content[i+1], key); found != nil {
			return found
		}
	}
	return nil
}

func sameManifest(a, b sdk.Manifest) bool { return reflect.DeepEqual(a, b) }

func implements(m sdk.Manifest, kind sdk.Kind) bool {
	return slices.Contains(m.Implements, fmt.Sprintf("%s/%d", kind, sdk.ContractVersion))
}
