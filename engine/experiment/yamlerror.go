package experiment

import (
	"bytes"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

var (
	yamlLine = lazyregexp.New(`^yaml: (?:line (\d+): )?`)
	// These come from the parser proper, which counts lines from 0; the others
	// come from its scanner, which counts from 1.
	yamlFromZero = lazyregexp.New(`^did not find expected (<document start>|node content|key|',' or|'-')`)
	yamlAnchor   = lazyregexp.New(`unknown anchor '([^']*)'`)
)

// failYAML turns a message of the YAML parser into one sentence with a place.
func (s *source) failYAML(text []byte, err error) *yaml.Node {
	message := err.Error()
	line := 1
	if m := yamlLine().FindStringSubmatch(message); m != nil {
		message = message[len(m[0]):]
		line, _ = strconv.Atoi(m[1])
		if yamlFromZero().MatchString(message) {
			line++
		}
	}
	if m := yamlAnchor().FindStringSubmatch(message); m != nil {
		if at := bytes.Index(text, []byte("*"+m[1])); at >= 0 {
			line = 1 + bytes.Count(text[:at], []byte("\n"))
		}
	}
	line = min(max(line, 1), countLines(text))
	return s.fail(line, 1, "not valid YAML: "+message, yamlHint(text, line, message))
}

func yamlHint(text []byte, line int, message string) string {
	lines := strings.Split(string(text), "\n")
	near := lines[line-1]
	switch {
	case strings.HasPrefix(strings.TrimLeft(near, " "), "\t"):
		return "indent with spaces, not with tabs"
	case strings.Contains(message, "cannot start any token"):
		return "put the value into quotes"
	case strings.Contains(message, "mapping values are not allowed"):
		return "check the indentation, and put a value with `: ` in it into quotes"
	case strings.Contains(message, "could not find expected ':'"):
		return "put a space after the colon, and a text of several lines into quotes"
	case strings.Contains(message, "did not find expected"):
		return "check the indentation, the brackets and the quotes"
	}
	return ""
}

// countLines is the number of lines an editor would show: a last line break
// begins no further line.
func countLines(text []byte) int {
	return max(1, bytes.Count(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))+1)
}
