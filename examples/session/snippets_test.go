package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What docs/embedding.md and docs/tour.md show in Go is in programs and tests that are
// compiled, and but for that of the tour run.
func TestSnippets(t *testing.T) {
	var sources []string
	for _, pattern := range []string{"*.go", "../embed/*.go", "../../engine/example_test.go", "../../engine/run/example_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			sources = append(sources, outdented(t, file))
		}
	}
	for _, doc := range []string{"../../docs/embedding.md", "../../docs/tour.md"} {
		parts := strings.Split("\n"+outdented(t, doc), "\n```go\n")
		if len(parts) < 2 {
			t.Errorf("%s shows no Go", doc)
		}
		for _, part := range parts[1:] {
			snippet, _, _ := strings.Cut(part, "\n```")
			if !within(sources, "\n"+snippet+"\n") {
				t.Errorf("%s shows what no program has:\n%s", doc, snippet)
			}
		}
	}
}

// outdented is a file without the blanks in front of its lines.
func outdented(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimLeft(line, " \t")
	}
	return strings.Join(lines, "\n")
}

func within(sources []string, text string) bool {
	for _, s := range sources {
		if strings.Contains(s, text) {
			return true
		}
	}
	return false
}
