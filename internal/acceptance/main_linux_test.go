package acceptance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testbuild"
)

// installed is one installation for all tests of this package, as a user has it:
// the program with its runtime and plugins beside it, in a folder with an awkward
// name, and the cache that fills with use.
var installed struct {
	seer, cache string
	builtins    map[string]string // digests of the plugins, for engines in tests
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "seer-acceptance-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = install(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func install(dir string) error {
	bin := filepath.Join(dir, "Programme für mich")
	installed.seer, installed.cache = filepath.Join(bin, "seer"), filepath.Join(dir, "cache")
	for _, d := range []string{dir, bin} { // other users run it too
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
		if err := os.Chmod(d, 0o755); err != nil {
			return err
		}
	}
	built, err := testbuild.Build(filepath.Join(dir, "built"))
	if err != nil {
		return err
	}
	if installed.builtins, err = built.Builtins(); err != nil {
		return err
	}
	for from, to := range map[string]string{built.Runtime: "runtime", built.Plugins: "plugins"} {
		if err := os.CopyFS(filepath.Join(bin, to), os.DirFS(from)); err != nil {
			return err
		}
	}
	if out, err := exec.Command("chmod", "-R", "a+rX", bin).CombinedOutput(); err != nil {
		return fmt.Errorf("chmod: %w: %s", err, out)
	}
	if err := built.Seer(installed.seer); err != nil {
		return err
	}
	if done, err := testbuild.Warm(installed.cache); done || err != nil {
		return err
	}
	return warm()
}

// warm lets the program compile the plugins of clouds, once for all tests: without an
// account, it gets no further.
func warm() error {
	cmd := exec.Command(installed.seer, "offers")
	cmd.Env = []string{"HOME=" + filepath.Dir(installed.cache), "XDG_CACHE_HOME=" + installed.cache, "PATH=/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	if !strings.Contains(string(out), "credential") {
		return fmt.Errorf("compile the plugins: %w\n%s", err, out)
	}
	return nil
}
