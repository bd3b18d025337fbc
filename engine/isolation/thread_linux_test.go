package isolation

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestThreadLeavesTheOthersAlone: the keyring and the filter belong to one thread, which
// ends with its work.
func TestThreadLeavesTheOthersAlone(t *testing.T) { each(t, threadLeavesTheOthersAlone) }

func threadLeavesTheOthersAlone(t *testing.T, kind string) {
	session := func() int {
		id, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
		if err != nil && err != unix.EPERM { // the filter of gVisor refuses to tell
			return -1
		}
		return id
	}
	filters := func() string { // how many the thread has: a container may have one, too
		status, err := os.ReadFile("/proc/thread-self/status")
		if err != nil {
			t.Error(err)
		}
		_, rest, _ := strings.Cut(string(status), "Seccomp_filters:")
		count, _, _ := strings.Cut(rest, "\n")
		return count
	}
	before, unfiltered := session(), filters()
	inside, filtered := 0, ""
	if err := thread(kind, defences{filter: true}, func() error { inside = session(); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := Thread(kind, func() error { filtered = filters(); return nil }); err != nil {
		t.Fatal(err)
	}
	if inside == before || inside <= 0 {
		t.Errorf("the session keyring is %d, and that of the user is %d", inside, before)
	}
	if (filtered != unfiltered) != (kind == GVisor) {
		t.Errorf("filters: %s, before %s", filtered, unfiltered)
	}
	if after := session(); after != before {
		t.Errorf("this thread's keyring was %d and is %d", before, after)
	}
	if now := filters(); now != unfiltered {
		t.Errorf("this thread is filtered, too: %s", now)
	}
}
