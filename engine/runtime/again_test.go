package runtime_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
)

// TestProcessIsStartedAgain lets a process die, and ends it for good.
func TestProcessIsStartedAgain(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	spec := protocol.ProcessSpec{ID: "p-again", Restart: true, Shell: `echo "run $$"; echo x >> runs; test $(wc -l < runs) -ge 2 && exec sleep 1000; exit 3`}
	p, err := m.client.Processes().Start(ctx, spec)
	if err != nil || !p.Background {
		t.Fatalf("%+v %v", p, err)
	}
	testkit.EventuallyNil(t, "the second run", func() error {
		p, err := m.client.Processes().Get(ctx, p.ID)
		if err != nil || p.Restarts != 1 || p.State != protocol.ProcessRunning {
			return fmt.Errorf("%+v %v", p, err)
		}
		var out bytes.Buffer // it runs before it has said so
		if _, _, err := m.client.Processes().Output(ctx, p.ID, 0, false, &out, nil); err != nil || strings.Count(out.String(), "run ") != 2 {
			return fmt.Errorf("%q %v", out.String(), err)
		}
		return nil
	})
	if h, err := m.client.Health(ctx); err != nil || !h.Busy {
		t.Errorf("%+v %v", h, err)
	}
	if err := m.client.Processes().Signal(ctx, p.ID, "TERM"); err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	_, end, err := m.client.Processes().Output(ctx, p.ID, 0, true, &out, &errOut)
	if err != nil || end.Signal != "TERM" || end.Restarts != 1 || strings.Count(out.String(), "run ") != 2 {
		t.Errorf("%+v %v %q", end, err, out.String())
	}
	if want := "seer: the process has ended with exit code 3 and is started again in 1s\nseer: started again\n"; errOut.String() != want {
		t.Errorf("it was told %q", errOut.String())
	}
	// One that is killed while it waits for its next start.
	if p, err = m.client.Processes().Start(ctx, protocol.ProcessSpec{Restart: true, Shell: "exit 1"}); err != nil {
		t.Fatal(err)
	}
	testkit.EventuallyNil(t, "its end", func() error {
		if s, err := m.client.Processes().Get(ctx, p.ID); err != nil || s.OutputBytes == 0 {
			return fmt.Errorf("%+v %v", s, err)
		}
		return nil
	})
	if err := m.client.Processes().Delete(ctx, p.ID); err != nil {
		t.Error(err)
	}
	if _, err := m.client.Processes().Start(ctx, protocol.ProcessSpec{Restart: true, Stdin: true, Shell: "cat"}); protocol.CodeOf(err) != protocol.Invalid {
		t.Error(err)
	}
}

// TestActivity has a background process say by a file whether it is use.
func TestActivity(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	beat := filepath.Join(m.boot.Roots["/workspace"], "beat")
	p, err := m.client.Processes().Start(ctx, protocol.ProcessSpec{Activity: "/workspace/beat", Shell: "echo $SEER_ACTIVITY; exec sleep 1000"})
	if err != nil || !p.Background {
		t.Fatalf("%+v %v", p, err)
	}
	busy := func(want bool) func() error {
		return func() error {
			if h, err := m.client.Health(ctx); err != nil || h.Busy != want {
				return fmt.Errorf("%+v %v", h, err)
			}
			return nil
		}
	}
	testkit.EventuallyNil(t, "a machine without use", busy(false))
	writeFile(t, beat, "")
	testkit.EventuallyNil(t, "use", busy(true))
	old := time.Now().Add(-5 * time.Second)
	if err := os.Chtimes(beat, old, old); err != nil {
		t.Fatal(err)
	}
	testkit.EventuallyNil(t, "the last use of a process that still counts", func() error {
		if h, err := m.client.Health(ctx); err != nil || !h.Busy || h.LastUseUnix > time.Now().Unix()-2 {
			return fmt.Errorf("%+v %v", h, err)
		}
		return nil
	})
	old = time.Now().Add(-21 * time.Second)
	for _, at := range []time.Time{old, time.Now().Add(time.Hour)} { // a clock that runs ahead is no use for ever
		if err := os.Chtimes(beat, at, at); err != nil {
			t.Fatal(err)
		}
		testkit.EventuallyNil(t, "no use", busy(false))
	}
	var out bytes.Buffer
	testkit.EventuallyNil(t, "the name of the file", func() error {
		out.Reset()
		if _, _, err := m.client.Processes().Output(ctx, p.ID, 0, false, &out, nil); err != nil || out.String() != beat+"\n" {
			return fmt.Errorf("%q %v", out.String(), err)
		}
		return nil
	})
	if _, err := m.client.PutLease(ctx, protocol.LeaseRequest{Kind: protocol.LeaseDetached, TTLSeconds: 600, IdleSeconds: 0.5}); err != nil {
		t.Fatal(err)
	}
	if code := m.ended(); code != 0 { // for the process that runs is no use
		t.Errorf("exit %d", code)
	}
}
