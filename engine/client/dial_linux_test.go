package client_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/engine/client"
)

// TestAFullQueueIsWaitedFor: many clients that connect at once are refused by the kernel
// until some have been taken.
func TestAFullQueueIsWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "listener")
	defer file.Close()
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	for full := false; !full; {
		conn, err := net.Dial("unix", path)
		if full = errors.Is(err, unix.EAGAIN); err == nil {
			defer conn.Close()
		} else if !full {
			t.Fatal(err)
		}
	}
	c, err := client.New("unix:"+path, "token")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	if _, err := c.Health(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while nobody is taken: %v", err)
	}
	l, err := net.FileListener(file)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Seer", "1")
		w.Write([]byte("{}"))
	})}
	defer srv.Close()
	go srv.Serve(l)
	if _, err := c.Health(t.Context()); err != nil {
		t.Errorf("once they are: %v", err)
	}
}
