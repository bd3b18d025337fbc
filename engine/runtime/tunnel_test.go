package runtime_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/loader"
	"github.com/seer-engine/seer/internal/testkit"
)

// tunnel is a reverse proxy as clouds put it before a machine: it shares its few
// connections to the machine among all clients.
func tunnel(t *testing.T, m *machine) string {
	t.Helper()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: strings.TrimPrefix(m.boot.Listen, "tcp:")})
	transport := &http.Transport{MaxConnsPerHost: 4, MaxIdleConnsPerHost: 4}
	proxy.Transport = transport
	proxy.FlushInterval = -1
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	srv := httptest.NewServer(proxy)
	t.Cleanup(srv.Close)
	t.Cleanup(transport.CloseIdleConnections)
	return srv.URL
}

func upBehindTunnel(t *testing.T) (*machine, string) {
	t.Helper()
	m := startIn(t, nil, func(m *machine) {
		m.boot.Listen = "tcp:127.0.0.1:" + freePort(t)
		m.env = append(m.env, realWorkerVariable+"=1")
	})
	url := tunnel(t, m)
	m.client = newClient(t, url, m.token)
	m.push() // through the tunnel, which answers 502 until the loader listens
	return m, url
}

func TestTunnel(t *testing.T) {
	t.Parallel()
	m, url := upBehindTunnel(t)
	m.mustServe("tools", realCode)
	m.mustServe("other", "@expose\ndef add(a): return -a\n")
	if out := m.shell("echo through"); out != "through\n" {
		t.Errorf("got %q", out)
	}
	ctx := testContext(t)
	tools, other := newClient(t, url, serviceToken+"tools"), newClient(t, url, serviceToken+"other")
	conn, err := tools.Calls().Connect(ctx, "tools")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// Handed-over and proxied calls of two clients at once: nobody gets what is another's.
	var wg sync.WaitGroup
	check := func(sign int, call func(n int) (string, error)) {
		wg.Go(func() {
			for n := range 50 {
				if got, err := call(n); err != nil || got != strconv.Itoa(sign*n) {
					t.Errorf("%d: %s %v", n, got, err)
					return
				}
			}
		})
	}
	check(1, func(n int) (string, error) {
		out, err := conn.Call(ctx, "add", []any{n, 0}, nil)
		return string(out), err
	})
	check(1, func(n int) (string, error) {
		out, err := tools.Calls().Call(ctx, "tools", "add", []any{n, 0}, nil)
		return string(out), err
	})
	check(-1, func(n int) (string, error) {
		out, err := other.Calls().Call(ctx, "other", "add", []any{n}, nil)
		return string(out), err
	})
	wg.Wait()
	if _, err := other.Calls().Call(ctx, "tools", "count", nil, nil); protocol.CodeOf(err) != protocol.Forbidden {
		t.Errorf("the other service's token: %v", err)
	}
	if out, err := tools.Calls().Call(ctx, "tools", "count", nil, nil); err != nil || string(out) != "100" {
		t.Errorf("calls that were run: %s %v", out, err)
	}
}

// TestChunkedCall sends arguments whose size is not told beforehand.
func TestChunkedCall(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.mustServe("tools", counter)
	body := io.MultiReader(strings.NewReader(`{"args":["`), strings.NewReader(strings.Repeat("z", 3<<20)), strings.NewReader(`"],"kwargs":{}}`))
	resp := m.raw(http.MethodPost, "/v1/services/tools/call/length", m.token, body)
	if data, _ := io.ReadAll(resp.Body); string(data) != fmt.Sprintf(`{"result":%d,"tagged":false}`, 3<<20) {
		t.Errorf("%s %q", resp.Status, data)
	}
	if resp := m.raw(http.MethodPost, "/v1/services/tools/call/add", m.token, nil); resp.StatusCode != http.StatusOK {
		t.Errorf("no arguments: %s", resp.Status)
	}
}

// TestUnnamedMachine has no name, so nothing can be found by its cookie.
func TestUnnamedMachine(t *testing.T) {
	t.Parallel()
	m := up(t, func(b *loader.Boot) { b.Machine = "" })
	m.mustServe("tools", counter)
	p, err := m.client.Processes().Start(testContext(t), protocol.ProcessSpec{Background: true, Shell: "sleep 1000 & exec sleep 1000"})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.client.Shutdown(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if code := m.ended(); code != 0 {
		t.Errorf("exit %d", code)
	}
	testkit.EventuallyNil(t, "its processes to end", func() error {
		if left := marked("SEER_PROCESS=" + p.ID); len(left) > 0 {
			return errors.New(left[0])
		}
		return nil
	})
}
