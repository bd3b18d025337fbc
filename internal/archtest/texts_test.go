package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// commandsNamed are texts that look like a command of the program and are none.
var commandsNamed = []string{
	"seer snapshots", // the comment of a key
}

var (
	// use finds the first word of each command's Use.
	use = regexp.MustCompile(`Use:\s*"([a-z-]+)`)
	// flagNamed are flags of the program; -- may also begin an option of another program.
	flagNamed = regexp.MustCompile(`(^|[\s` + "`" + `(,])--(set|set-string|fix|snapshot|live|memory|unguarded|plugin-dir|grant|only|plain-http|dir|out|json|trust|yes)\b`)
)

// TestEngineNamesNoCommand holds the engine's texts to what is true in any program that
// embeds it: package remedy says what to do, and cmd/seer has the command.
func TestEngineNamesNoCommand(t *testing.T) {
	files := sources(t)
	var names []string
	for file := range files {
		if strings.HasPrefix(file, "cmd/seer/") && strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") {
			for _, m := range use.FindAllStringSubmatch(readSource(t, file), -1) {
				names = append(names, m[1])
			}
		}
	}
	if len(names) < 40 {
		t.Fatalf("only %d commands are found: %v", len(names), names)
	}
	command := regexp.MustCompile(`\bseer (` + strings.Join(names, "|") + `)\b`)
	eachText(t, files, func(at, text string) {
		if slices.Contains(commandsNamed, text) {
			return
		}
		if found := command.FindString(text); found != "" {
			t.Errorf("%s: the text names the command %q; say in neutral words what to do, and add a remedy", at, found)
		}
		prose := strings.Count(text, " ") > 2
		if found := strings.TrimSpace(flagNamed.FindString(text)); prose && found != "" && !strings.Contains(at, "/surfacemcp.go:") { // which is the contract of surfaces
			t.Errorf("%s: the text names the flag %q; say in neutral words what to do, and add a remedy", at, found)
		}
	})
}

// eachText calls check with each string of the engine, without tests and what they use.
func eachText(t *testing.T, files map[string]bool, check func(at, text string)) {
	t.Helper()
	set := token.NewFileSet()
	for file := range files {
		if !strings.HasPrefix(file, "engine/") || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "engine/enginetest/") {
			continue
		}
		parsed, err := parser.ParseFile(set, "../../"+file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				check(strings.TrimPrefix(set.Position(lit.Pos()).String(), "../../"), text)
			}
			return true
		})
	}
}

func readSource(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile("../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// cloud finds the names of providers.
var cloud = regexp.MustCompile(`(?i)modal|runpod`)

// TestEngineNamesNoProvider holds the engine's texts to the rule that the core knows no
// cloud: what depends on one stands in its plugin.
func TestEngineNamesNoProvider(t *testing.T) {
	eachText(t, sources(t), func(at, text string) {
		if found := cloud.FindString(text); found != "" {
			t.Errorf("%s: the text names the provider %q", at, found)
		}
	})
}

// Regular expressions of packages are compiled when they are first used; see package lazyregexp.
func TestNoRegexpIsCompiledAtStart(t *testing.T) {
	atStart := regexp.MustCompile(`(?m)^(?:var \w+ |\t\w+ +)= regexp\.MustCompile`)
	for file := range sources(t) {
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || !linked(file) {
			continue
		}
		for _, found := range atStart.FindAllString(readSource(t, file), -1) {
			t.Errorf("%s: %s; write lazyregexp.New", file, strings.TrimSpace(found))
		}
	}
}

// linked reports whether a file may be part of the program: no tool, fake or plugin.
func linked(file string) bool {
	for _, dir := range []string{"engine/enginetest/", "internal/schemagen/", "internal/test"} {
		if strings.HasPrefix(file, dir) {
			return false
		}
	}
	return strings.HasPrefix(file, "engine/") || strings.HasPrefix(file, "internal/") || strings.HasPrefix(file, "cmd/")
}
