package archtest

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the public API into testdata instead of comparing it")

// aliasOf finds the types of a package's documentation that are another package's.
var aliasOf = regexp.MustCompile(`(?m)^type \w+(?:\[.*\])? = \*?(\w+)\.(\w+)`)

// TestPublicAPI compares the documentation of the public packages, and of the types that
// they take over from others, with what is stored. go test ./internal/archtest -update
// stores it anew: the change is then part of the commit.
func TestPublicAPI(t *testing.T) {
	for _, pkg := range []string{"engine", "sdk"} {
		api := goDoc(t, "-all", module+"/"+pkg)
		imports := goList(t, "-f", `{{join .Imports "\n"}}`, module+"/"+pkg)
		for _, alias := range aliasOf.FindAllStringSubmatch(api, -1) {
			for _, path := range imports {
				if strings.HasPrefix(path, module) && filepath.Base(path) == alias[1] {
					api += "\n" + goDoc(t, path, alias[2])
				}
			}
		}
		file := filepath.Join("testdata", pkg+".txt")
		if *update {
			if err := os.WriteFile(file, []byte(api), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if line, differ := firstDifference(string(want), api); differ {
			t.Errorf("the public API of %s has changed, first at %s; store it with go test ./internal/archtest -update", pkg, line)
		}
	}
}

// goDoc is the documentation as on Linux, which has the most of it.
func goDoc(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"doc"}, args...)...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "GOOS=linux")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go doc %s: %v: %s", strings.Join(args, " "), err, said.String())
	}
	return string(out)
}

func firstDifference(want, got string) (string, bool) {
	if want == got {
		return "", false
	}
	have := strings.Split(want, "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(have) || have[i] != line {
			return strings.TrimSpace(line), true
		}
	}
	return "its end", true
}
