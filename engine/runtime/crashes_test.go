package runtime_test

import (
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/protocol"
)

const hunter = `
import os, signal, threading, time

def hunt_for(prefix):
    while True:
        for name in os.listdir("/proc"):
            try:
                if name.isdigit() and open("/proc/%s/cmdline" % name).read().startswith(prefix):
                    os.kill(int(name), signal.SIGKILL)
            except OSError:
                pass
        time.sleep(0.05)

@expose
def hunt(prefix):
    threading.Thread(target=hunt_for, args=(prefix,), daemon=True).start()
`

// TestRuntimeKilledFromInside has code of a service kill every runtime: the machine ends.
func TestRuntimeKilledFromInside(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.mustServe("tools", hunter)
	_, _ = m.call("hunt", m.boot.Cache+"/seer-runtime-") // the answer may not arrive
	if code := m.ended(); code != 1 || !strings.Contains(m.log.String(), "died 6 times in a minute") {
		t.Errorf("exit %d, log %s", code, m.log)
	}
}

// TestRevokedTokensStayRevoked when the runtime is killed.
func TestRevokedTokensStayRevoked(t *testing.T) {
	t.Parallel()
	m := upTools(t)
	ctx := testContext(t)
	guest, _ := m.guest(t, protocol.Token{ID: "t-guest"})
	if _, err := guest.Calls().Call(ctx, "tools", "add", []any{1}, nil); err != nil {
		t.Fatal(err)
	}
	if err := m.client.Tokens().Delete(ctx, "tools", "t-guest"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		m.killRuntime()
		if _, err := guest.Calls().Call(ctx, "tools", "add", []any{1}, nil); protocol.CodeOf(err) != protocol.Unauthorized {
			t.Errorf("a revoked token: %v", err)
		}
	}
	m.wantCall("1", "count")
}
