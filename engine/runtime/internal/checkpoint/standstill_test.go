package checkpoint

import (
	"encoding/json"
	"log/slog"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/runtime/internal/lease"
)

// The loader forgets the lease while everything stands still, and is told it after that: it
// would not end a machine whose runtime was stopped.
func TestLeaseIsToldAfterStillness(t *testing.T) {
	t.Parallel()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	hand, loader := os.NewFile(uintptr(fds[0]), "hand"), os.NewFile(uintptr(fds[1]), "loader")
	t.Cleanup(func() { hand.Close(); loader.Close() })
	heard := make(chan string, 8)
	go func() {
		defer close(heard)
		data := make([]byte, 4096)
		for {
			n, err := loader.Read(data)
			if err != nil {
				return
			}
			var m struct{ T string }
			if json.Unmarshal(data[:n], &m) != nil {
				return
			}
			if m.T == "release" {
				_, _ = loader.Write([]byte("{}"))
			}
			heard <- m.T
		}
	}()
	log := slog.New(slog.DiscardHandler)
	l := lease.New(time.Now(), time.Hour, time.Time{})
	reporter := lease.NewReporter(l, hand, log)
	c := New(Deps{Lease: l, Reporter: reporter, Loader: hand, Log: log})
	reporter.Report(time.Now())
	newStandstill(c, "", "", "").end()
	reporter.Report(time.Now())
	reporter.Report(time.Now()) // it knows
	newStandstill(c, "", "", "").end()
	for i, want := range []string{"lease", "release", "lease", "release"} {
		if got := <-heard; got != want {
			t.Fatalf("message %d is %q, not %q", i+1, got, want)
		}
	}
}
