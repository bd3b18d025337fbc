package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/protocol/parking"
	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// parkable is a machine as far as it is parked.
type parkable struct {
	t     *testing.T
	f     folder
	heard net.Listener
	key   string // of its parking
	id    string
	asked chan chan struct{} // gets what a question waits for; nil: for nothing
}

func newParkable(t *testing.T) *parkable {
	t.Helper()
	top := testkit.ShortDir(t)
	m := &parkable{t: t, f: folder{note: filepath.Join(top, "m.json"), root: filepath.Join(top, "m"), socketDir: filepath.Join(top, "d")}}
	if err := errors.Join(m.f.make(), m.f.link()); err != nil {
		t.Fatal(err)
	}
	m.listen()
	if ok, err := m.f.adopt(nil); !ok || err != nil {
		t.Fatal(ok, err)
	}
	t.Cleanup(func() { _ = m.heard.Close() })
	return m
}

func (m *parkable) listen() {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(m.f.root, "run", "s"), Net: "unix"})
	if err != nil {
		m.t.Error(err)
		return
	}
	l.SetUnlinkOnClose(false)
	m.heard = l
	if m.key == "" {
		return
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q parking.Question
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			m.t.Error(err)
		}
		if m.asked != nil {
			answer := make(chan struct{})
			m.asked <- answer
			<-answer
		}
		_ = json.NewEncoder(w).Encode(parking.Answer(m.key, m.id, q))
	})}
	go func() { _ = srv.Serve(l) }()
}

// leave is what a parked machine does until it listens again.
func (m *parkable) leave(id, key string) {
	m.id, m.key = id, key
	wait := func(name string) {
		for !m.f.exists("run", name+"-"+id) {
			time.Sleep(time.Millisecond)
		}
	}
	wait("here")
	_ = m.heard.Close()
	_ = os.Remove(filepath.Join(m.f.root, "run", "s"))
	if err := os.WriteFile(filepath.Join(m.f.root, "run", "park-"+id), nil, 0o600); err != nil {
		m.t.Error(err)
	}
	wait("go")
	_ = os.Remove(filepath.Join(m.f.root, "run", "go-"+id))
	_ = os.Remove(filepath.Join(m.f.root, "run", "park-"+id))
	m.listen()
}

// Whoever asks for a parking and goes away at once leaves a machine that goes on: what was
// asked for is heard to its end, and the machine is thawed at the socket that it made anew.
func TestSaverThatGoesAway(t *testing.T) {
	m := newParkable(t)
	ctx, cancel := context.WithCancel(t.Context())
	s := &saving{f: m.f, n: &note{}, id: newParkID(), key: parking.NewKey(), leave: func() {}}
	var steps []string
	away := make(chan struct{})
	err := (&provider{}).saveParked(ctx, s, t.TempDir(), launch{}, func(asked context.Context, id, key string) error {
		cancel()
		if asked.Err() != nil {
			t.Error("the parking ends with whoever asked for it")
		}
		steps = append(steps, "park")
		go func() { defer close(away); m.leave(id, key) }()
		return nil
	}, func(thawing context.Context) error {
		if thawing.Err() != nil || !answers(m.f.socket()) || !sameFile(filepath.Join(m.f.root, "run", "s"), m.f.socket()) {
			t.Error("thawed where the machine does not listen")
		}
		steps = append(steps, "thaw")
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-away
	if len(steps) != 2 || steps[0] != "park" || steps[1] != "thaw" {
		t.Errorf("steps %q", steps)
	}
	if n, err := m.f.read(); err != nil || n.Parked != nil {
		t.Errorf("it is noted as parked: %+v, %v", n, err)
	}
}

// A saver that was killed, at whatever step, leaves a machine that whoever looks has go on,
// or whoever waits for it to save the machine.
func TestSaverThatWasKilled(t *testing.T) {
	p := &provider{}
	p.Dir = t.TempDir()
	if err := os.MkdirAll(filepath.Join(p.Dir, "locks"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Run("and somebody looks", func(t *testing.T) {
		saverKilled(t, func(f folder, parked *parkNote) (sdk.State, error) {
			return unpark(t.Context(), f, parked, func(s *saving) (bool, error) { return p.tellGone("m", s) })
		})
	})
	t.Run("and somebody saves", func(t *testing.T) {
		saverKilled(t, func(f folder, parked *parkNote) (sdk.State, error) {
			next := &saving{f: f, n: &note{Parked: parked}, id: newParkID(), key: parking.NewKey(), leave: func() {}}
			refused := &Refused{errors.New("it stands still")}
			if err := p.saveParked(t.Context(), next, t.TempDir(), launch{}, func(context.Context, string, string) error { return refused }, nil); !errors.Is(err, refused) {
				return "", err
			}
			n, err := f.read()
			if err != nil {
				return "", err
			}
			return f.reach(n.Parked)
		})
	})
}

func saverKilled(t *testing.T, next func(folder, *parkNote) (sdk.State, error)) {
	for name, steps := range map[string]int{"before it was received elsewhere": 0, "after": 2} {
		t.Run(name, func(t *testing.T) {
			m := newParkable(t)
			parked := &parkNote{ID: newParkID(), Key: parking.NewKey()}
			s := &saving{f: m.f, n: &note{Parked: parked}, id: parked.ID, key: parked.Key}
			away := make(chan struct{})
			if steps > 0 {
				if err := errors.Join(s.standIn(), s.stay()); err != nil {
					t.Fatal(err)
				}
				go func() { defer close(away); m.leave(s.id, s.key) }()
				for !s.hasLeft() {
					time.Sleep(time.Millisecond)
				}
				_ = s.instead.Close()
			} else {
				close(away)
			}
			seen, err := next(m.f, parked)
			if err != nil || seen != sdk.Running {
				t.Fatalf("%v, %v", seen, err)
			}
			<-away
			if m.f.exists("socket", "s"+before) {
				t.Error("the watchdog still takes it for one that is being saved")
			}
			if steps > 0 {
				s.leave()
			}
		})
	}
}

// A copy moves after its first proof. Whoever looks at the same time does not ask for another
// one, which would have the copy make another socket; and one that made it is found again.
func TestProofIsAskedForOnce(t *testing.T) {
	m := newParkable(t)
	copied := &parkNote{ID: newParkID(), Key: parking.NewKey(), Copy: true}
	m.again(copied)
	if err := os.Remove(filepath.Join(m.f.path("socket"), "s")); err != nil {
		t.Fatal(err)
	}
	m.asked = make(chan chan struct{})
	first := make(chan error)
	go func() {
		if ok, err := m.f.adopt(copied); err != nil || !ok {
			first <- fmt.Errorf("%v, %w", ok, err)
		}
		close(first)
	}()
	answer := <-m.asked // after the next look
	if ok, err := m.f.adopt(copied); ok || err != nil {
		t.Errorf("asked meanwhile: %v, %v", ok, err)
	}
	select {
	case <-m.asked:
		t.Fatal("it is asked twice")
	default:
		close(answer)
	}
	if err := <-first; err != nil {
		t.Error(err)
	}
	go func() { close(<-m.asked) }()
	m.again(copied)
	if seen, err := m.f.reach(copied); seen != sdk.Running || err != nil {
		t.Errorf("another socket: %v, %v", seen, err)
	}
}

// again makes the socket of the machine anew.
func (m *parkable) again(p *parkNote) {
	m.id, m.key = p.ID, p.Key
	_ = m.heard.Close()
	if err := os.Remove(filepath.Join(m.f.path("run"), "s")); err != nil {
		m.t.Fatal(err)
	}
	m.listen()
}

func TestAttacksOnAParkedMachine(t *testing.T) {
	attack.Run(t, []attack.Row{{Name: "socket-made-while-parked", Isolation: "gvisor", Want: "not its runtime", Try: listenInstead}})
}

// listenInstead is a process that moves while the machine is parked, listens in the place of
// the runtime, and answers whatever it is asked.
func listenInstead(t *testing.T, defended bool) error {
	m := newParkable(t)
	name := filepath.Join(m.f.path("socket"), "s")
	parked := &parkNote{ID: newParkID(), Key: parking.NewKey(), trusting: !defended}
	_ = m.heard.Close()
	inside := filepath.Join(m.f.path("run"), "s")
	if err := errors.Join(os.Remove(inside), os.Remove(name)); err != nil {
		t.Fatal(err)
	}
	m.id, m.key = parked.ID, parking.NewKey() // another one
	m.listen()
	return parked.owns(inside, inside, name)
}
