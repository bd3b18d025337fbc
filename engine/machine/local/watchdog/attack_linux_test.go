package watchdog_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/machine/local/watchdog"
	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/internal/ordinaryuser"
	"github.com/seer-engine/seer/sdk"
)

const (
	patience = 2 * time.Minute // for what must come
	look     = 200 * time.Millisecond
	looks    = 5
)

// TestMain makes the test binary double as the watchdog, which may never give up.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && (os.Args[1] == "watchdog" || os.Args[1] == "patient") {
		silent := looks
		if os.Args[1] == "patient" {
			silent = 0
		}
		os.Exit(watchdog.MainWith(os.Args[2], os.Stdout, look, silent))
	}
	os.Exit(m.Run())
}

// program answers on its socket until a child of it stops it, and counts from then on.
const program = `
import json, os, signal, socket, time
s = socket.socket(socket.AF_UNIX)
path = json.loads(os.environ["SEER_BOOT"])["listen"][5:]
os.chdir(os.path.dirname(path)); s.bind("s"); s.listen(8)
if os.fork() == 0:
    while not os.path.exists("/workspace/go"):
        time.sleep(0.02)
    os.kill(1, signal.SIGSTOP)
    for i in range(1 << 30):
        open("/workspace/count", "w").write(str(i))
        time.sleep(0.1)
while True:
    c, _ = s.accept()
    try:
        c.recv(1)
        c.sendall(b"HTTP/1.1 401 Unauthorized\r\n\r\n")
    except OSError:
        pass  # whoever asked is gone
    c.close()
`

// TestAttacks stops process 1 from inside, which only gVisor allows.
func TestAttacks(t *testing.T) {
	if os.Getenv("SEER_TEST_GVISOR") == "" {
		return
	}
	attack.Run(t, []attack.Row{
		{Name: "stopped-loader", Isolation: isolation.GVisor, Want: "it gave no answer", Try: stopLoader},
	})
}

func stopLoader(t *testing.T, defended bool) error {
	base, err := os.MkdirTemp("", "m") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	kind := "watchdog"
	if !defended {
		kind = "patient"
	}
	dir := filepath.Join(base, "machines")
	p := local.New(local.Options{Dir: dir, RuntimeDir: filepath.Join(base, "r"), Grace: time.Second, Places: []string{ordinaryuser.Runsc(isolation.RunscBuild)},
		Watchdog: []string{"/proc/self/exe", kind}, Python: func(ctx context.Context) (isolation.Interpreter, error) {
			return isolation.Python(ctx, func(string) string { return "" })
		}})
	step, err := p.Create(t.Context(), sdk.MachineSpec{Key: base, Owner: "me", Name: "box", Command: []string{"python3", "-c", program},
		Env: map[string]string{"SEER_BOOT": `{"listen":"unix:/s","admin_sha256":"00"}`}, Port: 7070, Isolation: isolation.GVisor, Network: "none"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Terminate(context.Background(), step.Handle); err != nil {
			t.Error(err)
		}
	})
	observe := func() sdk.Observation {
		seen, err := p.Observe(context.Background(), []string{step.Handle})
		if err != nil {
			t.Fatal(err)
		}
		return seen[0]
	}
	eventually(t, func() bool { return observe().State == sdk.Running })
	workspace := filepath.Join(dir, step.Handle, "workspace")
	if err := os.WriteFile(filepath.Join(workspace, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var ended error
	eventually(t, func() bool {
		if o := observe(); !o.State.Live() {
			ended = errors.New(o.Message)
			return true
		}
		data, _ := os.ReadFile(filepath.Join(workspace, "count"))
		count, _ := strconv.Atoi(strings.TrimSpace(string(data)))
		return count > 100 // tenths of a second: ten times what the other watchdog waits
	})
	return ended
}

func eventually(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain")
		}
	}
}

// TestAsOrdinaryUser makes the attacks again without root's rights.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Getenv("SEER_TEST_GVISOR") == "" {
		return
	}
	ordinaryuser.Again{Args: []string{"-test.run=^TestAttacks$"}, Env: []string{"SEER_TEST_GVISOR=1"}, Runsc: ordinaryuser.Runsc(isolation.RunscBuild)}.Run(t)
}
