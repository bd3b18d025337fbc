package run

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/python"
	"github.com/seer-engine/seer/engine/runtime"
)

// upAlone runs a runtime in this process and serves an interface on it.
func upAlone(t *testing.T, code string) (address, token string) {
	t.Helper()
	admin := protocol.NewToken()
	s, err := runtime.New(runtime.Options{AdminSHA256: protocol.HashToken(admin), Scratch: t.TempDir(), Worker: python.Files, WorkerEntry: python.Main})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	client, err := client.New("http://"+l.Addr().String(), admin)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	token = protocol.NewToken()
	v, err := client.Services().Put(t.Context(), "tools", protocol.ServiceSpec{Filename: "interface.py", Code: code, TokenSHA256: protocol.HashToken(token)})
	if err == nil {
		_, err = client.Services().Wait(t.Context(), "tools", v.Generation)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l.Addr().String(), token
}

// cut is a tunnel in front of a machine whose websockets are cut after a while, which grows: on a
// slow computer, too, there is one that lives long enough.
func cut(t *testing.T, address string, after time.Duration) string {
	t.Helper()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	var cuts atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), after*time.Duration(1+cuts.Load()/8))
		defer cancel()
		proxy.ServeHTTP(w, r.WithContext(ctx))
		cuts.Add(1)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestRelay(t *testing.T) {
	t.Parallel()
	address, token := upAlone(t, "import time\n@expose\ndef nap(s):\n    time.sleep(s)\n    return s\n@expose\ndef echo(x): return x\n")
	r, err := newRelay(t.TempDir(), cut(t, address, 300*time.Millisecond), token, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "client.py"), python.Client(), 0o600); err != nil {
		t.Fatal(err)
	}
	inside := client.Connection{Sandbox: "sb", Service: "tools", Endpoint: "unix:" + r.socket, Token: token}
	if err := inside.Write(filepath.Join(dir, "connection.json")); err != nil {
		t.Fatal(err)
	}
	const program = `
from client import *
c = Client("connection.json")
print(c.call("nap", (1.5,)), all(c.call("echo", (i,)) == i for i in range(300)), len(c.call("echo", ("x" * 3000000,))))
print(c._hand_over, len(c._idle))`
	cmd := exec.CommandContext(t.Context(), "python3", "-B", "-c", program)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "1.5 True 3000000\nTrue 1\n" {
		t.Errorf("%v\n%s", err, out)
	}
	r.close()
	if _, err := os.Stat(r.dir); !os.IsNotExist(err) {
		t.Errorf("the socket's folder was left: %v", err)
	}
}

// TestRelayToNowhere tells the agent why.
func TestRelayToNowhere(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer srv.Close()
	r, err := newRelay(t.TempDir(), srv.URL, "token", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	c, err := client.New("unix:"+r.socket, "token")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Services().Get(t.Context(), "tools"); protocol.CodeOf(err) != protocol.Unavailable || !strings.Contains(err.Error(), "websockets") {
		t.Errorf("%v", err)
	}
}
