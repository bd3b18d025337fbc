package sign_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/plugin/sign"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// agent starts the real one.
func agent(t *testing.T) string {
	t.Helper()
	socket := filepath.Join(testkit.ShortDir(t), "s")
	cmd := exec.Command("ssh-agent", "-D", "-a", socket)
	if err := cmd.Start(); err != nil {
		t.Fatal(err, "run scripts/setup test")
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("unix", socket); err == nil {
			conn.Close()
			return socket
		}
	}
	t.Fatal("ssh-agent does not listen")
	return ""
}

func TestAgent(t *testing.T) {
	socket := agent(t)
	for _, args := range [][]string{{"-t", "ed25519"}, {"-t", "rsa", "-b", "3072"}} {
		key := newKey(t, "", args...)
		if _, _, err := sign.Sign(t.Context(), statement, key+".pub", sign.Options{Agent: socket}); sdk.CodeOf(err) != sdk.NotFound || !strings.Contains(err.Error(), fingerprint(t, key)) {
			t.Errorf("before it has the key: %v", err)
		}
		add := exec.Command("ssh-add", "-q", key)
		add.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket)
		if out, err := add.CombinedOutput(); err != nil {
			t.Fatal(string(out))
		}
		if err := os.Remove(key); err != nil { // the agent is all there is
			t.Fatal(err)
		}
		armored, signer, err := sign.Sign(t.Context(), statement, key+".pub", sign.Options{Agent: socket})
		if err != nil || signer.Fingerprint != fingerprint(t, key) {
			t.Fatal(signer, err)
		}
		if err := theRealAccepts(t, key, statement, armored); err != nil {
			t.Error(err)
		}
	}
}

// An agent may wait for its user for ever.
func TestAgentThatDoesNotAnswer(t *testing.T) {
	key := newKey(t, "", "-t", "ed25519")
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, _, err := sign.Sign(ctx, statement, key+".pub", sign.Options{Agent: socket}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, _, err := sign.Sign(t.Context(), statement, key+".pub", sign.Options{Agent: socket + "x"}); sdk.CodeOf(err) != sdk.Unavailable {
		t.Errorf("%v", err)
	}
}
