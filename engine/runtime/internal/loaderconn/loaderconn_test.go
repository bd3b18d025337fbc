package loaderconn

import (
	"encoding/json"
	"os"
	"syscall"
	"testing"
)

// A runtime that was killed, or waited in vain, has left an answer: it is not taken for the
// next one. A loader of before sends no number.
func TestLateAnswer(t *testing.T) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	hand, loader := os.NewFile(uintptr(fds[0]), "hand"), os.NewFile(uintptr(fds[1]), "loader")
	t.Cleanup(func() { hand.Close(); loader.Close() })
	if _, err := loader.Write([]byte(`{"n":1}`)); err != nil {
		t.Fatal(err)
	}
	go func() {
		data := make([]byte, 1024)
		n, _ := loader.Read(data)
		var asked map[string]json.RawMessage
		_ = json.Unmarshal(data[:n], &asked)
		_, _ = loader.Write([]byte(`{"error":"its own","n":` + string(asked["n"]) + `}`))
		_, _ = loader.Read(data)
		_, _ = loader.Write([]byte(`{}`))
	}()
	if err := Ask(hand, map[string]any{"t": "hold"}, nil); err == nil || err.Error() != "its own" {
		t.Errorf("the answer to another message: %v", err)
	}
	if err := Ask(hand, map[string]any{"t": "release"}, nil); err != nil {
		t.Error(err)
	}
}
