package archtest

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

var testNamed = regexp.MustCompile(`(?m)^func (Test\w+)\(\w+ \*testing\.T\)`)

// A test that `make unit` leaves to `make long` is in a package that `make long` runs: otherwise
// nobody would run it.
func TestLongTestsRun(t *testing.T) {
	makefile := readSource(t, "Makefile")
	_, rest, _ := strings.Cut(makefile, "\nLONG := ")
	line, _, _ := strings.Cut(rest, "\n")
	long, err := regexp.Compile(strings.ReplaceAll(line, "$$", "$"))
	if err != nil || line == "" {
		t.Fatalf("LONG of the Makefile is %q, %v", line, err)
	}
	_, recipe, _ := strings.Cut(makefile, "\nlong-built:\n")
	recipe, _, _ = strings.Cut(recipe, "\n\n")
	runs := map[string]bool{}
	for _, word := range strings.Fields(recipe) {
		if pkg, ok := strings.CutPrefix(word, "./"); ok {
			runs[pkg] = true
		}
	}
	found := 0
	for file := range sources(t) {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range testNamed.FindAllStringSubmatch(readSource(t, file), -1) {
			if !long.MatchString(m[1]) {
				continue
			}
			if found++; !runs[path.Dir(file)] {
				t.Errorf("%s: make unit leaves out %s, and make long does not run its package; change its name, or add the package", file, m[1])
			}
		}
	}
	if found == 0 {
		t.Errorf("no test is named as %s", line)
	}
}
