package state

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/internal/testkit"
)

const mallory, alice = 65533, 65534 // users of one computer

// shell runs a script as mallory.
func shell(t *testing.T, script string) error {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: mallory, Gid: mallory}}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// TestVictim opens the folders as alice, when [victim] starts it.
func TestVictim(t *testing.T) {
	dir := os.Getenv("SEER_TEST_VICTIM")
	if dir == "" {
		return
	}
	fmt.Println("RESULT", opened(dir, os.Getenv("SEER_TEST_DEFENDED") == "true"))
}

// opened opens a store with its folders in dir and listens there.
func opened(dir string, defended bool) error {
	o := Options{StateDir: filepath.Join(dir, "state"), CacheDir: filepath.Join(dir, "cache"), shared: dir, anyOwner: !defended}
	s, err := Open(o)
	if err != nil {
		return err
	}
	l, err := net.Listen("unix", filepath.Join(s.RuntimeDir(), "s"))
	if err != nil {
		return err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	return l.Close()
}

// victim opens the folders as another user.
func victim(t *testing.T, uid int, dir string, defended bool) error {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestVictim$", "-test.v")
	cmd.Dir, cmd.Env = "/", append(testkit.RaceEnv(), "SEER_TEST_VICTIM="+dir, "SEER_TEST_DEFENDED="+strconv.FormatBool(defended))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	out, err := cmd.CombinedOutput()
	_, result, ok := strings.Cut(string(out), "RESULT ")
	if err != nil || !ok {
		t.Fatalf("%v: %s", err, out)
	}
	if result, _, _ = strings.Cut(result, "\n"); result != "<nil>" {
		return errors.New(result)
	}
	return nil
}

// attacked lets mallory prepare a place, root and alice open their folders there, and
// mallory take them over.
func attacked(prepare, takeOver string) func(t *testing.T, defended bool) error {
	return func(t *testing.T, defended bool) error {
		var refusals []error
		for _, uid := range []int{0, alice} {
			dir, err := os.MkdirTemp("/tmp", "seer-t")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			if err := os.Chmod(dir, os.ModeSticky|0o777); err != nil { // like /tmp
				t.Fatal(err)
			}
			env := fmt.Sprintf("DIR=%s; RUN=%s/seer-%d; ", dir, dir, uid)
			for _, own := range []string{"state", "cache", "open"} {
				path := filepath.Join(dir, own)
				if err := errors.Join(os.Mkdir(path, 0o777), os.Chmod(path, 0o777), os.Chown(path, uid, uid)); err != nil {
					t.Fatal(err)
				}
			}
			if err := shell(t, env+prepare); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(takeOver, "$DIR/open") {
				dir = filepath.Join(dir, "open")
			}
			if err := victim(t, uid, dir, defended); err != nil {
				refusals = append(refusals, err)
			} else if err := shell(t, env+takeOver); err != nil {
				refusals = append(refusals, err)
			}
		}
		if len(refusals) == 1 {
			t.Errorf("only one of two users is defended: %v", refusals)
		}
		return errors.Join(refusals...)
	}
}

func TestAttacksOnFolders(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root can be two users
	}
	attack.Run(t, []attack.Row{
		{Name: "runtime-folder-made-by-another-user", Want: "belongs to uid 65533", Try: attacked(
			`umask 0; mkdir "$RUN"`, `mv "$RUN/s" "$RUN/theirs"; echo mine > "$RUN/s"`)},
		{Name: "runtime-folder-is-a-link", Want: "is not a folder", Try: attacked(
			`umask 0; mkdir "$DIR/own"; ln -s "$DIR/own" "$RUN"`, `mv "$DIR/own/s" "$DIR/own/theirs"; echo mine > "$DIR/own/s"`)},
		{Name: "runtime-folder-is-replaced", Want: "others may replace it", Try: attacked(
			`:`, `set -- "$DIR"/open/seer-*; mv "$1" "$DIR/open/theirs"; mkdir "$1"; echo mine > "$1/s"`)},
		{Name: "state-folder-with-planted-files", Want: "may have put files into it", Try: attacked(
			`echo planted > "$DIR/state/machine.json"`, `[ "$(cat "$DIR/state/machine.json")" = planted ]`)},
	})
}
