package runtime_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/loader"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// cloud takes the requests of machines that end themselves.
type cloud struct {
	*httptest.Server
	mu      sync.Mutex
	answers []int // to the next requests; then 204
	seen    []string
}

func newCloud(t *testing.T, answers ...int) *cloud {
	t.Helper()
	c := &cloud{answers: answers}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		c.seen = append(c.seen, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")+" "+string(body)))
		status := http.StatusNoContent
		if len(c.answers) > 0 {
			status, c.answers = c.answers[0], c.answers[1:]
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *cloud) requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.seen)
}

const cloudKey = "rpa_a-key-of-the-cloud"

// selfEnding starts a machine that must end itself at a URL.
func selfEnding(t *testing.T, url string, change func(*loader.Boot)) *machine {
	t.Helper()
	request, err := json.Marshal(sdk.SelfEnd{Method: http.MethodDelete, URL: url + "/pods/{POD_ID}", Headers: map[string]string{"Authorization": "Bearer {CLOUD_KEY}"},
		Otherwise: []sdk.SelfEndRequest{{Method: http.MethodPost, URL: url + "/pods/{POD_ID}/action", Body: `{"action":"stop"}`}}})
	if err != nil {
		t.Fatal(err)
	}
	return startIn(t, nil, func(m *machine) {
		m.env = []string{sdk.SelfEndVariable + "=" + string(request), "CLOUD_KEY=" + cloudKey, "POD_ID=pod-7", "OTHER=stays"}
		if change != nil {
			change(&m.boot)
		}
	})
}

// askedInTime starts machines and ends them until one has had all answers of its cloud in
// time: where the computer is too slow for that, a machine asks again.
func askedInTime(t *testing.T, answers []int, change func(*loader.Boot), end func(*machine)) (*machine, *cloud) {
	t.Helper()
	for tries := 1; ; tries++ {
		cloud := newCloud(t, answers...)
		m := selfEnding(t, cloud.URL, change)
		end(m)
		m.ended()
		if tries == 5 || !strings.Contains(m.log.String(), "timed out") {
			return m, cloud
		}
	}
}

// TestSelfEndInAnotherWay: a key that may not delete its machine may stop it.
func TestSelfEndInAnotherWay(t *testing.T) {
	t.Parallel()
	m, cloud := askedInTime(t, []int{403}, func(b *loader.Boot) { b.BootSeconds = 0.1 }, func(*machine) {})
	stop := "POST /pods/pod-7/action Bearer " + cloudKey + ` {"action":"stop"}`
	if got := cloud.requests(); !slices.Equal(got, []string{wanted, stop}) {
		t.Errorf("the cloud was asked %q; %s", got, m.log)
	}
}

const wanted = "DELETE /pods/pod-7 Bearer " + cloudKey

// TestSelfEnd ends machines in every way, and each asks its cloud for its end once.
func TestSelfEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*loader.Boot)
		end    func(m *machine)
		code   int
	}{
		"lease": {nil, func(m *machine) {
			m.push()
			_, _ = m.client.PutLease(testContext(m.t), protocol.LeaseRequest{Kind: protocol.LeaseDetached, TTLSeconds: 0.2})
		}, 0},
		"shutdown": {nil, func(m *machine) {
			m.push()
			_ = m.client.Shutdown(testContext(m.t))
		}, 0},
		"no boot":                     {func(b *loader.Boot) { b.BootSeconds = 0.3 }, func(*machine) {}, 1},
		"hard end":                    {func(b *loader.Boot) { b.EndUnix = time.Now().Add(8 * time.Second).Unix() }, func(m *machine) { _ = m.tryPush() }, 0},
		"started again after its end": {func(b *loader.Boot) { b.EndUnix = time.Now().Add(-time.Hour).Unix() }, func(*machine) {}, 0},
		"a runtime that keeps dying": {nil, func(m *machine) {
			script := filepath.Join(m.dir, "dying")
			writeFile(m.t, script, "#!/bin/sh\nexit 3\n")
			go m.client.Boot(testContext(m.t), client.BootOptions{Binary: func(string, string) (string, error) { return script, nil }})
		}, 1},
		"terminated": {nil, func(m *machine) {
			m.push()
			_ = m.cmd.Process.Signal(syscall.SIGTERM)
		}, 0},
		"nothing to listen on": {func(b *loader.Boot) { b.Listen = "unix:/none/there/s" }, func(*machine) {}, loader.PortTaken},
		"no cache":             {func(b *loader.Boot) { b.Cache = "/dev/null/cache" }, func(*machine) {}, 1},
		"a socket that stays": {nil, func(m *machine) {
			m.push()
			socket := strings.TrimPrefix(m.boot.Listen, "unix:")
			if err := os.Remove(socket); err != nil {
				m.t.Error(err)
			}
			mustMkdir(m.t, socket)
			_ = m.cmd.Process.Signal(syscall.SIGTERM)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, cloud := askedInTime(t, nil, c.change, c.end)
			if code := m.ended(); code != c.code {
				t.Errorf("exit %d", code)
			}
			if got := cloud.requests(); !slices.Equal(got, []string{wanted}) {
				t.Errorf("the cloud was asked %q", got)
			}
		})
	}
}

// TestSelfEndIsRetried until the cloud has understood, or does not know the machine.
func TestSelfEndIsRetried(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string][]int{"understood": {500, 503, 204}, "unknown": {502, 500, 404}, "a redirect": {302, 500, 200}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, cloud := askedInTime(t, answers, func(b *loader.Boot) { b.BootSeconds = 0.1 }, func(*machine) {})
			if got := cloud.requests(); len(got) != 3 || got[0] != wanted || got[2] != wanted {
				t.Errorf("the cloud was asked %q", got)
			}
			if !strings.Contains(m.log.String(), fmt.Sprintf("asked for in vain: HTTP status %d", answers[0])) {
				t.Errorf("its log: %s", m.log)
			}
			if strings.Contains(m.log.String(), cloudKey) {
				t.Error("the key is in the log")
			}
		})
	}
}

func TestSelfEndWithoutItsCloud(t *testing.T) {
	t.Parallel()
	m := selfEnding(t, "http://127.0.0.1:1", func(b *loader.Boot) { b.BootSeconds = 0.1 })
	testkit.EventuallyNil(t, "two tries", func() error {
		if n := strings.Count(m.log.String(), "asked for in vain"); n < 2 {
			return fmt.Errorf("only %d", n)
		}
		return nil
	})
	if !strings.Contains(m.log.String(), "refused") {
		t.Errorf("its log: %s", m.log)
	}
	_ = m.cmd.Process.Kill() // it goes on for minutes
	m.ended()
}

// TestSelfEndIsHidden has the user's code look for the key of the cloud.
func TestSelfEndIsHidden(t *testing.T) {
	t.Parallel()
	m := selfEnding(t, newCloud(t).URL, nil)
	m.push()
	m.mustServe("tools", counter+"\n@expose\ndef env(): return sorted(os.environ)\n")
	out := m.shell("env; cat /proc/self/environ /proc/$PPID/environ 2>&1 | tr '\\0' '\\n'")
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", m.cmd.Process.Pid))
	if err != nil {
		t.Error(err)
	}
	served, err := m.call("env")
	if err != nil {
		t.Error(err)
	}
	for where, text := range map[string]string{"a process": out, "a service": served, "the loader's own environment": string(environ)} {
		for _, secret := range []string{cloudKey, "/pods/", "pod-7"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s shows %s", where, secret)
			}
		}
		if !strings.Contains(text, "OTHER") {
			t.Errorf("%s lacks what it should have: %.300s", where, text)
		}
	}
	for _, name := range []string{sdk.SelfEndVariable, "CLOUD_KEY", "POD_ID"} {
		if strings.Contains(out+served, name) {
			t.Errorf("%s is handed on", name)
		}
	}
}

// TestSelfEndNeedsItsVariables says what is missing when the machine starts.
func TestSelfEndNeedsItsVariables(t *testing.T) {
	t.Parallel()
	m := startIn(t, nil, func(m *machine) {
		m.env = []string{sdk.SelfEndVariable + `={"method":"DELETE","url":"http://127.0.0.1:1/{MISSING}"}`}
	})
	m.push()
	if want := "needs the variable MISSING"; !strings.Contains(m.log.String(), want) {
		t.Errorf("its log: %s", m.log)
	}
	_ = m.cmd.Process.Kill()
	m.ended()
}

// TestRestartedBeforeItsEnd starts the machine's command again, as clouds do with
// one that has crashed: it waits for its engine as at first.
func TestRestartedBeforeItsEnd(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t)
	m := selfEnding(t, cloud.URL, nil)
	m.push()
	m.startAgain()
	if got := cloud.requests(); len(got) > 0 {
		t.Errorf("the cloud was asked %q", got)
	}
}
