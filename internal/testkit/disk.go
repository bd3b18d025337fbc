package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// smallDisk says to the copy of a test that it runs on a small disk.
const smallDisk = "SEER_TEST_SMALL_DISK"

// OnSmallDisk runs the test again with a file system of that size at /mnt, where it calls
// run. A test calls it alone.
func OnSmallDisk(t *testing.T, bytes int, run func(t *testing.T)) {
	t.Helper()
	if os.Getenv(smallDisk) != "" {
		run(t)
		return
	}
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Fatal("bubblewrap is needed for this test: apt-get install bubblewrap")
	}
	cmd := exec.Command(bwrap, "--unshare-user", "--ro-bind", "/", "/", "--size", fmt.Sprint(bytes), "--tmpfs", "/mnt", "--dev", "/dev",
		"--setenv", smallDisk, "1", os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
