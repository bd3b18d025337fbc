package sshtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// Port is the port of the program of [Spec] beside its socket.
const Port = 8000

// echo stands for the loader: it sends back what it is sent, at its socket and at a port.
const echo = `
import json, os, signal, socket, threading
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
folder, name = os.path.split(json.loads(os.environ["SEER_BOOT"])["listen"][5:])
os.chdir(folder)
def listen(name):
    s = socket.socket(socket.AF_UNIX); s.bind(name); s.listen(128)
    return s
unix, port = listen(name), listen("ports/8000") # where the gate connects to
def serve(c):
    with c:
        while data := c.recv(65536):
            c.sendall(data)
def accept(s):
    while True:
        threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
threading.Thread(target=accept, args=(port,), daemon=True).start()
accept(unix)
`

// Spec is a machine that sends back what it is sent.
func Spec(key string) sdk.MachineSpec {
	return sdk.MachineSpec{
		Key: key, Owner: "me", Name: key, Command: []string{"python3", "-c", echo}, Env: map[string]string{"SEER_BOOT": "{}"},
		Port: 8717, Ports: []int{Port}, AnyPort: []int{Port}, Isolation: "bubblewrap", Network: "none",
		TimeoutSeconds: 600, EndUnix: time.Now().Add(10 * time.Minute).Unix(),
	}
}

// Output reads the answer of a method of the provider on a host.
func Output[Out any](t testing.TB, text []byte) (out Out, err error) {
	t.Helper()
	var e sdk.Envelope
	if json.Unmarshal(text, &e) != nil || (e.OK == nil) == (e.Error == nil) {
		t.Fatalf("%q is no answer", text)
	}
	if e.Error != nil {
		return out, e.Error
	}
	if err := json.Unmarshal(e.OK, &out); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out, nil
}

// Processes are those whose command line or environment has a text.
func Processes(text string) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		for _, file := range []string{"cmdline", "environ"} {
			data, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), file))
			if strings.Contains(string(data), text) {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// Gone waits until no process has a text in its command line or environment, and kills those
// that stay.
func Gone(t testing.TB, text string) {
	t.Helper()
	for range 6000 {
		if len(Processes(text)) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, pid := range Processes(text) {
		line, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		t.Errorf("process %d is left: %.200q", pid, line)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
