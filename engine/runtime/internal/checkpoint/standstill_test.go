package checkpoint

import (
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/runtime/internal/gpumemory"
	"github.com/seer-engine/seer/engine/runtime/internal/lease"
	"github.com/seer-engine/seer/engine/runtime/internal/portforward"
)

// The loader forgets the lease while everything stands still, and is told it after that: it
// would not end a machine whose runtime was stopped.
func TestLeaseIsToldAfterStillness(t *testing.T) {
	t.Parallel()
	hand, heard := fakeLoader(t, map[string]string{"release": "{}"})
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

// fakeLoader answers messages by their type, and tells their types.
func fakeLoader(t *testing.T, answers map[string]string) (hand *os.File, heard <-chan string) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	hand, loader := os.NewFile(uintptr(fds[0]), "hand"), os.NewFile(uintptr(fds[1]), "loader")
	t.Cleanup(func() { hand.Close(); loader.Close() })
	types := make(chan string, 8)
	go func() {
		defer close(types)
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
			types <- m.T
			if answer := answers[m.T]; answer != "" {
				_, _ = loader.Write([]byte(answer))
			}
		}
	}()
	return hand, types
}

// listeners are the sockets of a machine, in turn.
type listeners chan net.Listener

func (l listeners) Serve(s net.Listener) { l <- s }
func (l listeners) Close()               {}

// The loader cannot park: the machine goes on as what it is, with another socket.
func TestParkingFails(t *testing.T) {
	t.Parallel()
	hand, heard := fakeLoader(t, map[string]string{"park": `{"error":"not today"}`, "listen": "{}", "release": "{}"})
	log, sockets := slog.New(slog.DiscardHandler), make(listeners, 1)
	l := lease.New(time.Now(), time.Hour, time.Time{})
	c := New(Deps{Lease: l, Reporter: lease.NewReporter(l, hand, log), Forwarder: portforward.New(nil, log), GPUs: gpumemory.New(gpumemory.Deps{}), Listener: sockets, Loader: hand, Log: log,
		Persist: func() {}, End: func(why string) { t.Errorf("the machine ends: %s", why) }})
	p := &quiescence{standstill: newStandstill(c, "id", "key", filepath.Join(t.TempDir(), "s")), back: &gpusBack{done: make(chan struct{})}, since: time.Now(), until: time.Now().Add(time.Hour)}
	var err error
	if p.thawed, err = c.freezer.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.quiesced.Store(true)
	p.run()
	if c.Quiesced() || c.Frozen() {
		t.Error("the machine does not go on")
	}
	for i, want := range []string{"park", "listen", "release"} {
		select {
		case got := <-heard:
			if got != want {
				t.Fatalf("message %d is %q, not %q", i+1, got, want)
			}
		default:
			t.Fatalf("the loader was not told %q", want)
		}
	}
	if s := <-sockets; s.Close() != nil {
		t.Error("its socket is closed")
	}
}
