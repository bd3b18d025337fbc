package runtime_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime"
	"github.com/seer-engine/seer/internal/testkit"
)

// TestLinger runs the server within the test, to make its patience short: longer where the
// computer is too slow to follow a process within it.
func TestLinger(t *testing.T) {
	t.Parallel()
	linger := 300 * time.Millisecond
	for err := lingers(t, linger); err != nil; err = lingers(t, linger) {
		if linger *= 4; linger > time.Minute {
			t.Fatal(err)
		}
	}
}

// lingers has processes followed and abandoned. What it returns is how one ended that was
// followed.
func lingers(t *testing.T, linger time.Duration) error {
	t.Helper()
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := runtime.New(runtime.Options{AdminSHA256: protocol.HashToken("admin"), Scratch: dir, Linger: linger})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(testContext(t))
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	c := newClient(t, "unix:"+l.Addr().String(), "admin")
	abandoned, err := c.Processes().Start(ctx, protocol.ProcessSpec{Shell: "exec sleep 1000"})
	if err != nil {
		t.Fatal(err)
	}
	background, err := c.Processes().Start(ctx, protocol.ProcessSpec{Shell: "exec sleep 1000", Background: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Processes().Run(ctx, protocol.ProcessSpec{Shell: fmt.Sprintf("sleep %g", 4*linger.Seconds())}, nil, nil, nil)
	if err != nil {
		t.Error(err)
	}
	testkit.EventuallyNil(t, "the abandoned process to be killed", func() error {
		if p, err := c.Processes().Get(ctx, abandoned.ID); err != nil || p.Signal != "KILL" {
			return fmt.Errorf("%+v %v", p, err)
		}
		return nil
	})
	if p, err := c.Processes().Get(ctx, background.ID); err != nil || p.State != protocol.ProcessRunning {
		t.Errorf("the background process: %+v %v", p, err)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if left := marked("SEER_PROCESS=" + background.ID); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if p.ExitCode != 0 {
		return fmt.Errorf("one that is followed: %+v", p)
	}
	return nil
}
