package fakerunpod_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/seer-engine/seer/engine/enginetest/container"
	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
	"github.com/seer-engine/seer/internal/testkit"
)

// listens is a pod on whose port a handler of the test answers.
func (r *rig) listens(h http.HandlerFunc) (id, port string) {
	r.t.Helper()
	s := httptest.NewServer(h)
	r.t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		r.t.Fatal(err)
	}
	id = r.create(object{"ports": []string{port + "/http", "9/http", "22/tcp"}})
	r.awaitUp(id)
	return id, port
}

// get gives no status of an answer that is cut.
func (r *rig) get(url string) (int, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), "GET", url, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

func TestProxyFindsPods(t *testing.T) {
	r := start(t, func(o *fakerunpod.Options) { o.Delays.Pull = 50 * time.Millisecond; o.ProxyBody = 10 })
	pulling := r.create(object{"ports": []string{"9/http"}})
	if status, _ := r.get(r.at(pulling, "9")); status != 502 {
		t.Errorf("nothing runs yet: %d", status)
	}
	var calls atomic.Int64
	conns := map[string]bool{}
	id, port := r.listens(func(w http.ResponseWriter, req *http.Request) {
		calls.Add(1)
		conns[req.RemoteAddr] = true
		body, _ := io.ReadAll(req.Body)
		fmt.Fprintf(w, "%s %s %s", req.Method, req.RequestURI, body)
	})
	for range 3 {
		if status, text := r.get(r.at(id, port) + "/a%2Fb/c?d=e"); status != 200 || text != "GET /a%2Fb/c?d=e " {
			t.Errorf("%d %q", status, text)
		}
	}
	if len(conns) != 1 {
		t.Errorf("%d connections for %d requests", len(conns), calls.Load())
	}
	for what, c := range map[string]struct {
		url  string
		want int
	}{
		"nothing listens": {r.at(id, "9"), 502},
		"not http":        {r.at(id, "22"), 404},
		"not listed":      {r.at(id, "8888"), 404},
		"no such pod":     {r.at("abcdefghij", port), 404},
		"no port":         {r.at(id, ""), 404},
		"the root":        {strings.SplitN(r.ProxyURL(), "{", 2)[0], 404},
	} {
		if status, _ := r.get(c.url); status != c.want {
			t.Errorf("%s: %d, want %d", what, status, c.want)
		}
	}
	resp, err := http.Post(r.at(id, port), "text/plain", strings.NewReader("more than ten"))
	if err != nil || resp.StatusCode != 413 {
		t.Errorf("a large body: %v, %v", resp, err)
	}
	r.SetBehaviour(fakerunpod.Behaviour{DeadProxy: true})
	if status, _ := r.get(r.at(id, port)); status != 502 {
		t.Errorf("dead: %d", status)
	}
}

// cut is soon, so that on a slow computer it may come before a request has reached the
// pod: the tests of it try again.
func cut(o *fakerunpod.Options) { o.ProxyCut = 200 * time.Millisecond }

// reads runs a pod that gives no answer. It tells whether a request has reached the pod, and the
// result of read for the first one.
func (r *rig) reads(read func(*http.Request) error) (id, port string, reached *atomic.Bool, first <-chan error) {
	reached, result := &atomic.Bool{}, make(chan error, 1)
	id, port = r.listens(func(_ http.ResponseWriter, req *http.Request) {
		reached.Store(true)
		select {
		case result <- read(req):
		default: // another has
		}
	})
	return id, port, reached, result
}

// ends waits for what a handler says in the end.
func ends(t *testing.T, said <-chan error) error {
	t.Helper()
	select {
	case err := <-said:
		return err
	case <-time.After(2 * time.Minute):
		t.Fatal("the handler goes on")
		return nil
	}
}

func TestProxyCutsWhatDoesNotAnswer(t *testing.T) {
	r := start(t, cut)
	id, port, reached, gone := r.reads(func(req *http.Request) error {
		<-req.Context().Done()
		return nil
	})
	testkit.Eventually(t, "it reaches the pod", func() bool {
		if status, _ := r.get(r.at(id, port)); status != 524 {
			t.Fatalf("%d", status)
		}
		return reached.Load()
	})
	_ = ends(t, gone)
}

func TestProxyCutsAnswersThatHaveBegun(t *testing.T) {
	r := start(t, cut)
	id, port := r.listens(func(w http.ResponseWriter, req *http.Request) {
		for i := 0; req.Context().Err() == nil; i++ {
			fmt.Fprintln(w, i)
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Millisecond)
		}
	})
	testkit.Eventually(t, "an answer begins", func() bool {
		resp, err := http.Get(r.at(id, port))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if resp.StatusCode == 524 && err == nil {
			return false
		}
		if resp.StatusCode != 200 || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%d %q, %v", resp.StatusCode, text, err)
		}
		return len(text) > 0
	})
}

// endless is a body that goes on until it is no longer wanted.
type endless struct{ read atomic.Int64 }

func (e *endless) Read(b []byte) (int, error) {
	time.Sleep(time.Millisecond)
	e.read.Add(1)
	return copy(b, "more "), nil
}

func TestProxyCutsUploads(t *testing.T) {
	r := start(t, cut)
	id, port, reached, ended := r.reads(func(req *http.Request) error {
		_, err := io.Copy(io.Discard, req.Body)
		return err
	})
	testkit.Eventually(t, "it reaches the pod", func() bool {
		resp, err := http.Post(r.at(id, port), "application/octet-stream", &endless{})
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode != 524 {
				t.Fatalf("%d", resp.StatusCode)
			}
		}
		return reached.Load()
	})
	if ends(t, ended) == nil {
		t.Error("the pod believes that it has the whole body")
	}
}

func TestProxyAndWebsockets(t *testing.T) {
	r := start(t, cut)
	id, port := r.listens(func(w http.ResponseWriter, req *http.Request) {
		c, err := websocket.Accept(w, req, nil)
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		for {
			kind, data, err := c.Read(req.Context())
			if err != nil || c.Write(req.Context(), kind, data) != nil {
				return
			}
		}
	})
	testkit.Eventually(t, "there and back before the cut", func() bool {
		c, _, err := websocket.Dial(t.Context(), strings.Replace(r.at(id, port), "http", "ws", 1), nil)
		if err != nil {
			return false
		}
		defer func() { _ = c.CloseNow() }()
		if c.Write(t.Context(), websocket.MessageText, []byte("hello")) != nil {
			return false
		}
		_, data, err := c.Read(t.Context())
		if err != nil {
			return false
		}
		if string(data) != "hello" {
			t.Fatalf("%q", data)
		}
		end := make(chan error, 1)
		go func() { _, _, err := c.Read(t.Context()); end <- err }()
		if ends(t, end) == nil {
			t.Fatal("the proxy did not cut it")
		}
		return true
	})
}

func TestProxyRefusesOtherUpgrades(t *testing.T) {
	r := start(t)
	id, port := r.listens(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(101) })
	address := strings.TrimPrefix(strings.SplitN(r.ProxyURL(), "/{", 2)[0], "http://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /%s-%s/v1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: seer-frames/2\r\n\r\n", id, port)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != 400 {
		t.Errorf("%v, %v", resp, err)
	}
}

func TestSilentPod(t *testing.T) {
	r := start(t, cut)
	free, err := container.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(free)
	id := r.create(object{"args": "python3 -m http.server --bind 127.0.0.1 " + port, "ports": []string{port + "/http"}})
	testkit.Eventually(t, "it listens", func() bool { status, _ := r.get(r.at(id, port)); return status == 200 })
	r.Freeze(id)
	if status, _ := r.get(r.at(id, port)); status != 524 {
		t.Errorf("frozen: %d", status)
	}
	if r.pod(id)["status"] != "RUNNING" {
		t.Error("it does not claim to run")
	}
	r.Thaw(id)
	testkit.Eventually(t, "it answers again", func() bool { status, _ := r.get(r.at(id, port)); return status == 200 })
	r.Lose(id)
	r.awaitStatus(id, "ERROR")
	testkit.Eventually(t, "nothing listens", func() bool { status, _ := r.get(r.at(id, port)); return status == 502 })
}
