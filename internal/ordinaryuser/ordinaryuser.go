// Package ordinaryuser runs the tests of a package again without the rights of root.
package ordinaryuser

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/internal/testbuild"
	"github.com/seer-engine/seer/internal/testkit"
)

// ID is the uid and the gid of the user.
const ID = 65534

const runscVariable = "SEER_TEST_RUNSC"

// Runsc is the folder in which scripts/setup puts gVisor's runsc of a build, or the copy that
// the ordinary user can reach.
func Runsc(build string) string {
	if dir := os.Getenv(runscVariable); dir != "" {
		return dir
	}
	top, err := testbuild.Top()
	if err != nil {
		panic(err)
	}
	return filepath.Join(top, ".tools", "runsc-"+build)
}

// Again is a test program that is run again.
type Again struct {
	Args  []string          // of the test program, as -test.run=X
	Env   []string          // besides HOME, TMPDIR and PATH
	Runsc string            // the folder of the runsc that is copied; empty = none
	Files map[string][]byte // name → content of files in the user's home
}

// Run returns what the tests have said. They must pass. Where this program has no rights of
// root, its tests run without them already: it returns "".
func (a Again) Run(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		return ""
	}
	home, err := os.MkdirTemp("/tmp", "seer-t") // a short path: sockets lie below
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	if err := os.Chown(home, ID, ID); err != nil {
		t.Fatal(err)
	}
	for name, content := range a.Files {
		if err := os.WriteFile(filepath.Join(home, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := append([]string{"HOME=" + home, "TMPDIR=" + home, "PATH=/usr/bin:/bin", runscVariable + "=" + home}, a.Env...)
	if a.Runsc != "" {
		runsc, err := os.ReadFile(filepath.Join(a.Runsc, "runsc"))
		if err == nil {
			err = os.WriteFile(filepath.Join(home, "runsc"), runsc, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/proc/self/exe", append([]string{"-test.v"}, a.Args...)...) // by this name whatever the folder's mode
	cmd.Dir, cmd.Env = "/", append(env, testkit.RaceEnv()...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ID, Gid: ID}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as uid %d: %v\n%s", ID, err, out)
	}
	return string(out)
}
