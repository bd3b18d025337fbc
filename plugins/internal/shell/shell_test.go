package shell_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/seer-engine/seer/plugins/internal/shell"
)

// Packages reach pip and apt as they are, and commands the loader, whatever they hold.
func FuzzJoin(f *testing.F) {
	f.Add("a b", "it's")
	f.Add("numpy>=2,<3", "torch; python_version >= '3.9'")
	f.Add("$(id) `id` \\", "'; rm -rf / # \n")
	f.Fuzz(func(t *testing.T, a, b string) {
		a, b = strings.ReplaceAll(a, "\x00", ""), strings.ReplaceAll(b, "\x00", "") // no argument can hold one
		out, err := exec.Command("sh", "-c", `printf '%s\0' `+shell.Join([]string{a, b})).Output()
		if err != nil || string(out) != a+"\x00"+b+"\x00" {
			t.Errorf("%q and %q became %q, %v", a, b, out, err)
		}
	})
}
