package sandboxcmd

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/internal/testkit"
)

// TestAttacksOnOtherUsers reads what every user of the computer can read of processes.
func TestAttacksOnOtherUsers(t *testing.T) {
	attack.Run(t, []attack.Row{
		{Name: "jupyter-token-in-process-list", Want: "the browser's arguments are", Try: tokenOfPage},
	})
}

// tokenOfPage opens a page in a browser that keeps its arguments as other users see them.
func tokenOfPage(t *testing.T, defended bool) error {
	const page = "http://127.0.0.1:8888/base/?token=of-the-user&x=<"
	bin, sockets := t.TempDir(), t.TempDir()
	for _, name := range []string{"xdg-open", "open"} {
		testkit.WriteProgram(t, filepath.Join(bin, name), "#!/bin/sh\ntr '\\0' ' ' </proc/$$/cmdline >\"${0%/*}/seen\"\n")
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("XDG_RUNTIME_DIR", sockets)
	a := app{App: cli.New(os.Stdin, os.Stdout, os.Stderr, cli.Build{}), urlInArguments: !defended}
	a.StateDir = t.TempDir()
	if err := a.browse(t.Context(), "sandbox", page); err != nil {
		t.Fatal(err)
	}
	seen, err := os.ReadFile(filepath.Join(bin, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(seen), "of-the-user") {
		return nil
	}
	if defended {
		leadsTo(t, string(seen), page)
	}
	return fmt.Errorf("the browser's arguments are %s", seen)
}

// leadsTo checks that a browser's last argument is a private file that leads to the page.
func leadsTo(t *testing.T, arguments, page string) {
	t.Helper()
	words := strings.Fields(arguments)
	file := strings.TrimPrefix(words[len(words)-1], "file://")
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), `url=`+html.EscapeString(page)+`"`) {
		t.Errorf("%s, %v", text, err)
	}
	for path, want := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
}
