package runtime_test

import (
	"bufio"
	"bytes"
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

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/parking"
	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/internal/testkit"
)

const (
	parkID     = "0123456789abcdef0123456789abcdef"
	theParkKey = parkID + parkID
)

// quiesce has the machine stand still, again where the computer is too slow for a process to stop
// within the patience of the runtime.
func (m *machine) quiesce(ctx context.Context, r protocol.ParkRequest) {
	m.t.Helper()
	r.ID, r.Key = parkID, theParkKey
	testkit.EventuallyNil(m.t, "every process to stand still", func() error {
		_, err := m.client.Park(ctx, r)
		if err != nil && protocol.CodeOf(err) != protocol.Conflict {
			m.t.Fatal(err)
		}
		return err
	})
}

// park parks the machine and waits until it has let go of everything.
func (m *machine) park(ctx context.Context) {
	m.t.Helper()
	m.quiesce(ctx, protocol.ParkRequest{})
	testkit.EventuallyNil(m.t, "the machine to be parked", func() error {
		_, err := os.Stat(filepath.Join(m.dir, "park-"+parkID))
		return err
	})
	if _, err := os.Lstat(filepath.Join(m.dir, "s")); !errors.Is(err, os.ErrNotExist) {
		m.t.Errorf("the socket of a parked machine: %v", err)
	}
}

// socket is the file of the machine's socket.
func (m *machine) socket() os.FileInfo {
	m.t.Helper()
	info, err := os.Lstat(filepath.Join(m.dir, "s"))
	if err != nil {
		m.t.Fatal(err)
	}
	return info
}

// goes tells a parked machine what it is from now on.
func (m *machine) goes(r protocol.Renewal) {
	m.t.Helper()
	m.goesWith(theParkKey, r)
}

func (m *machine) goesWith(key string, r protocol.Renewal) {
	m.t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		m.t.Fatal(err)
	}
	part := filepath.Join(m.dir, "part")
	if err := os.WriteFile(part, parking.Seal(key, parkID, data), 0o600); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Rename(part, filepath.Join(m.dir, "go-"+parkID)); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) answers(ctx context.Context, c *client.Client) {
	m.t.Helper()
	testkit.EventuallyNil(m.t, "the machine to answer again", func() error {
		_, err := c.Health(ctx)
		return err
	})
}

// upCounting starts a machine whose processes count in the files daemon and front.
func upCounting(t *testing.T) (*machine, context.Context) {
	t.Helper()
	m, ctx := up(t, nil), testContext(t)
	if _, err := m.client.Processes().Start(ctx, protocol.ProcessSpec{Background: true, Shell: counting}); err != nil {
		t.Fatal(err)
	}
	m.goesOn("daemon", "front")
	return m, ctx
}

// parkAlone parks the machine and says nothing more: it goes on by itself.
func (m *machine) parkAlone(ctx context.Context) {
	m.t.Helper()
	m.quiesce(ctx, protocol.ParkRequest{Seconds: 0.3})
	m.goesOn("daemon", "front")
	m.answers(ctx, m.client)
}

func TestPark(t *testing.T) {
	t.Parallel()
	m, ctx := upCounting(t)
	if _, err := m.client.Park(ctx, protocol.ParkRequest{ID: "../../etc"}); protocol.CodeOf(err) != protocol.Invalid {
		t.Errorf("a path as the id: %v", err)
	}
	for range 2 { // as often as one likes
		m.park(ctx)
		m.standsStill("daemon", "front")
		m.goes(protocol.Renewal{})
		m.answers(ctx, m.client)
		m.standsStill("daemon", "front") // files may still be copied
		if err := m.client.Thaw(ctx); err != nil {
			t.Fatal(err)
		}
		m.goesOn("daemon", "front")
	}
	if err := m.client.Thaw(ctx); protocol.CodeOf(err) != protocol.Conflict {
		t.Errorf("thawed twice: %v", err)
	}
	// Nobody says how it goes on: it does.
	before := m.socket()
	m.parkAlone(ctx)
	if after := m.socket(); os.SameFile(before, after) && after.ModTime().Equal(before.ModTime()) {
		t.Error("the socket of a machine that was parked is the one of before")
	}
	// The loader has the new socket, too: a runtime that dies is started again on it.
	m.killRuntime()
	m.answers(ctx, m.client)
}

// Whoever parked the machine is gone, and it went on. Whoever asks it to prove itself then
// may be asked through something in it: the proof comes on a socket that is made while
// everything stands still, and nowhere else.
func TestProofAfterItWentOn(t *testing.T) {
	t.Parallel()
	m, ctx := upCounting(t)
	m.parkAlone(ctx)
	at := filepath.Join(m.dir, "s")
	if err := parking.Ask(ctx, at, parking.NewKey(), parkID); !errors.Is(err, parking.ErrProof) {
		t.Errorf("asked by somebody without the key: %v", err)
	}
	before := connect(t, at)
	q := parking.NewQuestion(theParkKey, parkID)
	if got := ask(t, connect(t, at), q); got != http.StatusConflict {
		t.Errorf("it proves itself while things move: HTTP status %d", got)
	}
	testkit.EventuallyNil(t, "another socket", func() error {
		c, err := net.Dial("unix", at)
		if err == nil {
			defer c.Close()
			if got := ask(t, before, q); got != http.StatusConflict {
				t.Errorf("it proves itself on a connection of before: HTTP status %d", got)
			}
		}
		return err
	})
	testkit.EventuallyNil(t, "the proof", func() error { return parking.Ask(ctx, at, theParkKey, parkID) })
	m.goesOn("daemon", "front")
	m.killRuntime() // the loader has that socket, too
	m.answers(ctx, m.client)
}

func connect(t *testing.T, at string) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ask puts a question to whatever is at the other end, and returns the HTTP status.
func ask(t *testing.T, c net.Conn, q parking.Question) int {
	t.Helper()
	body, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest(http.MethodPost, "http://seer"+parking.Path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Write(c); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// A machine that finds itself in another folder is another machine: with its own keys,
// end, lease, tokens and calls, and with the memory that it had.
func TestRenew(t *testing.T) {
	t.Parallel()
	m := upReal(t)
	ctx := testContext(t)
	m.mustServe("tools", `
import random
state = 0
random.seed(7)
@expose
def count():
    global state
    state += 1
    return state
@expose
def draw():
    return random.random()
@expose
def endless():
    import time
    while True: time.sleep(0.01)
`)
	admin := m.client
	if got := callNamed(ctx, t, admin, "call-0001", "count"); got != "1" {
		t.Fatal(got)
	}
	if err := admin.Sessions().Put(ctx, "shell", "a-session-token"); err != nil {
		t.Fatal(err)
	}
	endless := client.CallRequest{Service: "tools", Function: "endless", ID: "call-endless"}
	if _, err := admin.Calls().Submit(ctx, endless); err != nil {
		t.Fatal(err)
	}
	draw := func(c *client.Client, id string) string { return callNamed(ctx, t, c, id, "draw") }
	m.park(ctx)
	token, tools := protocol.NewToken(), protocol.NewToken()
	end := time.Now().Add(time.Hour).Unix()
	m.goes(protocol.Renewal{Copy: true, AdminSHA256: protocol.HashToken(token), EndUnix: end, BootSeconds: 60,
		Services: map[string]string{"tools": protocol.HashToken(tools)}})
	testkit.EventuallyNil(t, "the copy to prove itself", func() error { return parking.Ask(ctx, filepath.Join(m.dir, "s"), theParkKey, parkID) })
	renewed := newClient(t, m.boot.Listen, token)
	m.answers(ctx, renewed)
	for who, c := range map[string]*client.Client{"the owner before": admin, "a session": newClient(t, m.boot.Listen, "a-session-token")} {
		if _, err := c.Processes().List(ctx); protocol.CodeOf(err) != protocol.Unauthorized {
			t.Errorf("%s: %v", who, err)
		}
	}
	h, err := renewed.Health(ctx)
	if err != nil || h.Lease.Kind != protocol.LeaseBoot || h.Lease.HardEndUnix != end {
		t.Errorf("%+v %v", h, err)
	}
	// The name of a call is free again, and what was in memory is there.
	c := newClient(t, m.boot.Listen, tools)
	if got := callNamed(ctx, t, c, "call-0001", "count"); got != "2" {
		t.Error(got)
	}
	// What ran was interrupted, and what is drawn is not what the original draws: 0.323… with the seed 7.
	testkit.EventuallyNil(t, "the call of the original to end", func() error {
		call, err := renewed.Calls().Get(ctx, "tools", "call-endless")
		if err == nil && call.State == protocol.CallRunning {
			err = errors.New("it runs")
		}
		return err
	})
	_, err = c.Calls().Attach(ctx, "tools", "call-endless", 1, client.CallHandler{}).Wait(ctx)
	var failed *protocol.CallError
	if !errors.As(err, &failed) || failed.Code != protocol.CallInterrupted {
		t.Errorf("%v", err)
	}
	if got := draw(c, "call-draw"); got[:7] == "0.32383" {
		t.Errorf("%s is what the original draws", got)
	}
	// A runtime that dies is still the copy's.
	m.client = renewed
	m.killRuntime()
	m.answers(ctx, renewed)
	if got := callNamed(ctx, t, c, "call-0002", "count"); got != "3" {
		t.Error(got)
	}
}

func TestAttacksOnRenewals(t *testing.T) {
	attack.Run(t, []attack.Row{{Name: "forged-renewal", Want: "the machine is itself", Try: forgedRenewal}})
}

// forgedRenewal has a parked machine become one with the attacker's token. For the control,
// the attacker knows the key of the parking.
func forgedRenewal(t *testing.T, defended bool) error {
	m, ctx := up(t, nil), testContext(t)
	key, evil, parked := theParkKey, protocol.NewToken(), protocol.ParkLimit
	if defended {
		key, parked = parking.NewKey(), 3*time.Second // then it goes on by itself
	}
	m.quiesce(ctx, protocol.ParkRequest{Seconds: parked.Seconds()})
	testkit.EventuallyNil(t, "the machine to be parked", func() error {
		_, err := os.Stat(filepath.Join(m.dir, "park-"+parkID))
		return err
	})
	m.goesWith(key, protocol.Renewal{Copy: true, AdminSHA256: protocol.HashToken(evil), BootSeconds: 60})
	owner, taken := m.client, newClient(t, m.boot.Listen, evil)
	var refused error
	testkit.EventuallyNil(t, "the machine to go on", func() error {
		_ = parking.Ask(ctx, filepath.Join(m.dir, "s"), theParkKey, parkID) // a copy waits for that
		if _, refused = taken.Health(ctx); refused == nil {
			m.client = taken // which ends it
			return nil
		}
		_, err := owner.Health(ctx)
		return err
	})
	if refused != nil {
		return fmt.Errorf("the machine is itself: %w", refused)
	}
	return nil
}

// callNamed calls a function without arguments under a name.
func callNamed(ctx context.Context, t testing.TB, c *client.Client, id, fn string) string {
	t.Helper()
	answer, err := c.Calls().Do(ctx, client.CallRequest{Service: "tools", Function: fn, ID: id}, client.CallHandler{})
	if err != nil {
		t.Fatal(err)
	}
	return string(answer.JSON())
}

// A machine whose saver is gone goes on by itself: before it has let go of its socket, and
// after.
func TestParkedByNobody(t *testing.T) {
	t.Parallel()
	m, ctx := upCounting(t)
	before := m.socket()
	const soon = 0.3
	m.quiesce(ctx, protocol.ParkRequest{AskerSeconds: soon})
	m.goesOn("daemon", "front")
	if !os.SameFile(before, m.socket()) {
		t.Error("nobody was there, and the socket is another one")
	}
	here := filepath.Join(m.dir, "here-"+parkID)
	if err := os.WriteFile(here, nil, 0o600); err != nil { // there at once, and never touched
		t.Fatal(err)
	}
	m.quiesce(ctx, protocol.ParkRequest{AskerSeconds: soon})
	m.answers(ctx, m.client)
	m.goesOn("daemon", "front")
	for _, left := range []string{here, filepath.Join(m.dir, "park-"+parkID)} {
		if _, err := os.Lstat(left); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", left, err)
		}
	}
	if err := m.client.Thaw(ctx); protocol.CodeOf(err) != protocol.Conflict {
		t.Errorf("thawed although it goes on: %v", err)
	}
}
