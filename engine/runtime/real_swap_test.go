package runtime_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/python"
	"github.com/seer-engine/seer/internal/testkit"
)

const swapCode = `
import os, time

@expose
def pid(): return os.getpid()

@expose
def mark(name):
    with open("marks", "a") as f: f.write(name + "\n")
    return name
`

// TestRealServiceIsReplacedWhileTheWorkerIsSuspended: a call that has reached the old
// worker, which has not read it, does not begin in the new one, too.
func TestRealServiceIsReplacedWhileTheWorkerIsSuspended(t *testing.T) {
	t.Parallel()
	for _, kill := range []bool{false, true} {
		t.Run(fmt.Sprintf("runtime killed %v", kill), func(t *testing.T) {
			t.Parallel()
			m := upReal(t)
			m.mustServe("tools", swapCode)
			pid := m.suspendWorker()
			first := m.mark("call-once")
			detached := m.detach("call-kept")
			spec := protocol.ServiceSpec{Filename: "interface.py", Code: swapCode + "\n@expose\ndef second(): return 2\n",
				TokenSHA256: protocol.HashToken(serviceToken + "tools")}
			if _, err := m.client.Services().Put(testContext(t), "tools", spec); err != nil {
				t.Fatal(err)
			}
			testkit.EventuallyNil(t, "the other worker", func() error {
				if list := m.realWorkers(); len(list) < 2 {
					return fmt.Errorf("%d", len(list))
				}
				return nil
			})
			again := m.mark("call-once")
			time.Sleep(6 * time.Second) // it is asked a second time by then
			if v, err := m.client.Services().Get(testContext(t), "tools"); err != nil || v.Generation != 1 {
				t.Errorf("%+v %v", v, err)
			}
			if kill {
				m.killRuntime()
			}
			if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			<-first
			<-again
			if status := <-detached; !kill && status != http.StatusAccepted && status != http.StatusOK {
				t.Errorf("the detached call: %d", status)
			}
			testkit.EventuallyNil(t, "the other generation", func() error {
				if got, err := m.call("second"); err != nil || got != "2" {
					return fmt.Errorf("%s %v", got, err)
				}
				return nil
			})
			<-m.mark("call-once")
			if !kill {
				if status, a := m.answerOf("GET", "calls/call-kept?wait=120", ""); status != http.StatusOK {
					t.Errorf("what was promised: %d %v", status, a)
				}
			}
			data, _ := os.ReadFile(m.boot.Roots["/workspace"] + "/marks")
			if n := strings.Count(string(data), "call-once"); n != 1 || strings.Count(string(data), "call-kept") > 1 {
				t.Errorf("it has run as %q", data)
			}
		})
	}
}

// suspendWorker stops the only worker, and returns its process.
func (m *machine) suspendWorker() int {
	m.t.Helper()
	pid := 0
	out, err := m.call("pid")
	if _, serr := fmt.Sscan(out, &pid); err != nil || serr != nil {
		m.t.Fatalf("%q %v", out, err)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	return pid
}

// mark sends a call of the given name, and tells when its request has ended.
func (m *machine) mark(id string) <-chan struct{} {
	done := make(chan struct{})
	sent := make(chan struct{})
	go func() {
		defer close(done)
		close(sent)
		for i := range 40 { // as a client does whose request was cut
			if m.marked(id, i) {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
	<-sent
	time.Sleep(300 * time.Millisecond) // it is under way
	return done
}

// detach sends a call that goes on by itself, and tells the status of its answer.
func (m *machine) detach(id string) <-chan int {
	status := make(chan int, 1)
	go func() {
		resp, err := m.request(id, "?wait=0", "Seer-Call-Options", `{"detach":true}`)
		if err != nil {
			status <- 0
			return
		}
		resp.Body.Close()
		status <- resp.StatusCode
	}()
	time.Sleep(300 * time.Millisecond) // it is under way
	return status
}

// marked makes one request for the call, and reports whether it was answered.
func (m *machine) marked(id string, repeats int) bool {
	var header []string
	if repeats > 0 {
		header = []string{"Seer-Call-Age", "1"}
	}
	resp, err := m.request(id, "", header...)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK
}

func (m *machine) request(id, query string, header ...string) (*http.Response, error) {
	body := strings.NewReader(`{"args":["` + id + `"],"kwargs":{}}`)
	req, err := http.NewRequest(http.MethodPost, "http://x/v1/services/tools/call/mark"+query, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+serviceToken+"tools")
	req.Header.Set("Seer-Call-Id", id)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	transport := &http.Transport{DialContext: dialer(strings.TrimPrefix(m.boot.Listen, "unix:")), DisableKeepAlives: true}
	return transport.RoundTrip(req)
}

// realWorkers are the workers of the machine.
func (m *machine) realWorkers() (list []string) {
	for _, line := range marked("SEER_MACHINE=" + m.boot.Machine) {
		if strings.Contains(line, python.Main) {
			list = append(list, line)
		}
	}
	return list
}
