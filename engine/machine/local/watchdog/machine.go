package watchdog

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seer-engine/seer/engine/gpulease"
	"github.com/seer-engine/seer/engine/machine/local/proc"
	"github.com/seer-engine/seer/engine/state"
)

// EndedName is the file in a machine's folder that says why the watchdog has ended it.
const EndedName = "ended"

// note is the part of a machine's note that matters here; see local.
type note struct {
	Key       string          `json:"key"`
	Isolation string          `json:"isolation"`
	Outer     proc.Process    `json:"outer"`
	NetProxy  json.RawMessage `json:"gate"`
	Parked    json.RawMessage `json:"parked"`
	EndUnix   int64           `json:"end_unix"`
	CreatedAt time.Time       `json:"created_at"`
	Claims    []gpulease.Kept `json:"gpu_claims"`
	Limits    *struct {
		Unified string `json:"unified"`
	} `json:"limits"`
}

func readNote(path string) (n note, err error) {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &n)
	}
	return n, err
}

// handleOf is the machine of a note; empty if the file is none.
func handleOf(path string) string {
	name, ok := strings.CutSuffix(filepath.Base(path), ".json")
	if !ok || len(name) != 13 || name[0] != 'm' {
		return ""
	}
	return name
}

// machine is what the watchdog knows of one.
type machine struct {
	root, lock string
	note       note
	inner      proc.Process // once it was seen
	ending     atomic.Bool
	ended      atomic.Bool
	asked      time.Time // when it was last asked for an answer
	silent     atomic.Int32
	asking     atomic.Bool
	claims     map[string]*gpulease.Claim // of GPUs, by path: they are held as long as the machine lives
	awaited    bool                       // somebody waits for its end
	gpus       gpuState
}

// hold holds the machine's GPUs, and reports whether it has them all.
func (m *machine) hold() bool {
	for _, k := range m.note.Claims {
		if m.claims[k.Path] != nil {
			continue
		}
		if c, err := gpulease.Hold(k); err == nil {
			m.claims[k.Path] = c
		}
	}
	return len(m.claims) >= len(m.note.Claims)
}

// forget gives the machine's GPUs back.
func (m *machine) forget() {
	for _, c := range m.claims {
		c.Release()
	}
}

// starting is how long a machine may have a note without a process. Afterwards it starts as long as
// somebody holds its lock: the files of saved processes may take long.
const starting = 2 * time.Minute

func (m *machine) processes() proc.Machine {
	if inner, ended, ok := proc.Inner(filepath.Join(m.root, "status"), filepath.Join(m.root, "inner"), m.note.Key); ok && !ended {
		m.inner = inner
	}
	p := proc.Machine{Key: m.note.Key, Outer: m.note.Outer, Inner: m.inner, Contained: m.note.Isolation != "none", NetProxied: len(m.note.NetProxy) > 0}
	if m.note.Limits != nil {
		p.Cgroup = m.note.Limits.Unified
	}
	return p
}

// lives reports whether there may still be something to end.
func (m *machine) lives(noted bool) bool {
	switch {
	case m.ended.Load():
		return false
	case m.ending.Load():
		return true
	case noted && m.note.Outer.PID == 0 && (time.Since(m.note.CreatedAt) < starting || m.locked()):
		return true
	}
	p := m.processes()
	if proc.Alive(p.Outer) || proc.Alive(p.Inner) {
		return true
	}
	left, err := p.Processes()
	return err != nil || len(left) > 0
}

// end is when the machine is killed; zero if it may live for ever.
func (m *machine) end(l limits) time.Time {
	if m.note.EndUnix == 0 {
		return time.Time{}
	}
	return time.Unix(m.note.EndUnix, 0).Add(l.grace)
}

// hung says that a machine has given no answer for so long that nobody in it can keep its
// lease: in gVisor, code inside can stop the loader and the runtime. What answers is the
// socket's owner; no token is needed, and none is sent.
func (m *machine) hung(l limits, now time.Time) string {
	socket := filepath.Join(m.root, "socket", "s")
	if _, err := os.Lstat(socket); err != nil || m.note.Outer.PID == 0 {
		m.silent.Store(0) // it was never reached
		return ""
	}
	enough := int(m.silent.Load()) >= l.silent
	if !enough && now.Sub(m.asked) < l.look-l.look/10 && now.After(m.asked) {
		return ""
	}
	if m.saved(socket) {
		m.silent.Store(0)
		m.asked = now
		return ""
	}
	if enough {
		return "it gave no answer for " + (time.Duration(l.silent) * l.look).String()
	}
	if !m.asking.CompareAndSwap(false, true) {
		return ""
	}
	m.asked = now
	go func() {
		defer m.asking.Store(false)
		if answers(socket, l.answer) {
			m.silent.Store(0)
		} else {
			m.silent.Add(1)
		}
	}()
	return ""
}

// Before is added to the name of the socket that a machine had before somebody saved it.
// This name is gone when the socket that the machine has made since then is known.
const Before = ".before"

// saved reports whether the machine is not at its socket: it is being saved, or was when
// its saver was killed, and nobody has looked for it since then. The note alone does not
// tell: it names the last parking also afterwards, and for ever in a copy.
func (m *machine) saved(socket string) bool {
	if len(m.note.Parked) == 0 {
		return false
	}
	if old, err := os.Lstat(socket + Before); err == nil {
		if now, err := os.Lstat(socket); err == nil && !os.SameFile(old, now) {
			return true
		}
	}
	return m.locked()
}

// locked reports whether somebody starts, saves or ends the machine.
func (m *machine) locked() bool {
	lock, held, err := state.TryAcquire(m.lock)
	if err == nil && !held {
		m.release(lock)
	}
	return held
}

// answers reports whether anything comes back from a socket, whose path may be too long.
func answers(socket string, limit time.Duration) bool {
	if runtime.GOOS == "linux" {
		dir, err := os.Open(filepath.Dir(socket))
		if err != nil {
			return false
		}
		defer dir.Close()
		socket = filepath.Join("/proc/self/fd", strconv.Itoa(int(dir.Fd())), filepath.Base(socket))
	}
	conn, err := net.DialTimeout("unix", socket, limit)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(limit))
	_, _ = conn.Write([]byte("GET /loader/v1 HTTP/1.1\r\nHost: watchdog\r\nConnection: close\r\n\r\n"))
	n, _ := conn.Read(make([]byte, 1))
	return n > 0
}

// kill ends the machine. Its folders stay for whoever asks what became of it. Somebody who
// saves it has it locked and is waited for, within limits.
func (m *machine) kill(ctx context.Context, p proc.Machine, why string, saving time.Duration) {
	waiting, cancel := context.WithTimeout(ctx, saving)
	lock, err := state.Acquire(waiting, m.lock)
	cancel()
	if err == nil { // without the lock the folder is gone, or its holder hangs
		defer m.release(lock)
	}
	known, _ := p.Processes() // Kill looks again
	if len(known) > 0 {
		_ = os.WriteFile(filepath.Join(m.root, EndedName), []byte(why), 0o600) // only a message
	}
	killing, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if gone, _ := p.Kill(killing, known); gone {
		m.ended.Store(true)
	}
	m.ending.Store(false)
}

// release leaves the lock's file to a machine that is still there.
func (m *machine) release(lock *state.Lock) {
	if _, err := os.Lstat(m.root + ".json"); err != nil {
		lock.Remove()
		return
	}
	lock.Release()
}
