package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
)

// What the README of a new plugin names is there: commands of Seer, files of the folder.
func TestTheReadmeOfANewPluginIsTrue(t *testing.T) {
	p := newProgram(t)
	commands, files := regexp.MustCompile("seer plugin ([a-z]+)"), regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")
	for _, lang := range []string{"go", "assemblyscript"} {
		for _, kind := range []string{"provider", "fetcher", "expose"} {
			dir := filepath.Join(p.dir, lang, kind)
			p.run("plugin", "new", kind, "tiny", "--lang", lang, "--dir", dir)
			text, err := os.ReadFile(filepath.Join(dir, "README.md"))
			if err != nil {
				t.Fatal(err)
			}
			named, listed := commands.FindAllSubmatch(text, -1), files.FindAllSubmatch(text, -1)
			if len(named) < 4 || len(listed) < 4 {
				t.Errorf("%s %s: %d commands and %d files in:\n%s", lang, kind, len(named), len(listed), text)
			}
			for _, m := range named {
				root := newRoot(cli.New(os.Stdin, os.Stdout, os.Stderr, cli.Build{}))
				if c, _, err := root.Find([]string{"plugin", string(m[1])}); err != nil || c.Name() != string(m[1]) {
					t.Errorf("%s %s: there is no command seer plugin %s", lang, kind, m[1])
				}
			}
			for _, m := range listed {
				if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(string(m[1])))); err != nil {
					t.Errorf("%s %s: %v", lang, kind, err)
				}
			}
		}
	}
}
