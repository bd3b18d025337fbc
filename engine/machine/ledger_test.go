package machine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

func openLedger(t *testing.T) (*machine.Ledger, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "some där with spaces")
	l, err := machine.OpenLedger(dir, enginetest.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	return l, dir
}

func add(t *testing.T, l *machine.Ledger, id, name string, state sdk.State) machine.Record {
	t.Helper()
	r := machine.NewRecord()
	r.ID, r.Name, r.Provider = id, name, "cloud"
	if err := l.Add(context.Background(), &r); err != nil {
		t.Fatal(err)
	}
	r, err := l.Update(context.Background(), id, func(r *machine.Record) error { r.State = state; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A program that stands still while it changes the ledger holds up no other that only opens it.
func TestOpenLockedLedger(t *testing.T) {
	first, dir := openLedger(t)
	lock, err := state.Acquire(t.Context(), filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	opened := make(chan *machine.Ledger)
	go func() {
		l, err := machine.OpenLedger(dir, nil)
		if err != nil {
			t.Error(err)
		}
		opened <- l
	}()
	select {
	case l := <-opened:
		if l.Owner() != first.Owner() || l.Owner() == "" {
			t.Errorf("owners %q and %q", first.Owner(), l.Owner())
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for the lock")
	}
}

func TestResolve(t *testing.T) {
	l, _ := openLedger(t)
	add(t, l, "sb-aaaaaaaaaa", "old", sdk.Stopped)
	add(t, l, "sb-aaaabbbbbb", "left", sdk.Running)
	add(t, l, "sb-aaaacccccc", "right", sdk.Running)
	add(t, l, "sb-dddddddddd", "old", sdk.Running)
	add(t, l, "sb-eeeeeeeeee", "aaaab", sdk.Running)
	add(t, l, "sb-ffffffffff", "twice", sdk.Stopped)
	for ref, want := range map[string]string{
		"sb-aaaaaaaaaa": "sb-aaaaaaaaaa", // a whole ID, though ended
		"left":          "sb-aaaabbbbbb",
		"old":           "sb-dddddddddd", // the live one of that name
		"aaaab":         "sb-eeeeeeeeee", // a name goes before a beginning
		"sb-aaaac":      "sb-aaaacccccc",
		"D":             "sb-dddddddddd",
		"f":             "sb-ffffffffff", // an ended one when no live one begins so
		"twice":         "sb-ffffffffff",
	} {
		if r, err := l.Resolve(ref); err != nil || r.ID != want {
			t.Errorf("%q is %s, %v; want %s", ref, r.ID, err, want)
		}
	}
	var ambiguous *machine.AmbiguousError
	if _, err := l.Resolve("aaaa"); !errors.As(err, &ambiguous) || len(ambiguous.Candidates) != 2 || sdk.CodeOf(err) != sdk.Invalid {
		t.Errorf("aaaa: %v", err)
	}
	for _, ref := range []string{"", "sb-", "lost", "../owner", "é"} {
		var missing *machine.NotFoundError
		if _, err := l.Resolve(ref); !errors.As(err, &missing) || sdk.CodeOf(err) != sdk.NotFound {
			t.Errorf("%q: %v", ref, err)
		}
	}
	if _, err := l.Resolve("lost"); !strings.Contains(err.Error(), "sb-aaaabbbbbb (left)") {
		t.Errorf("no candidates: %v", err)
	}
}

func TestNames(t *testing.T) {
	l, _ := openLedger(t)
	first := add(t, l, "sb-aaaaaaaaaa", "mine", sdk.Running)
	second := machine.NewRecord()
	second.Name = "mine"
	var conflict *machine.ConflictError
	if err := l.Add(context.Background(), &second); !errors.As(err, &conflict) || conflict.ID != first.ID {
		t.Errorf("taken name: %v", err)
	}
	add(t, l, "sb-bbbbbbbbbb", "", sdk.Running)
	add(t, l, "sb-cccccccccc", "", sdk.Running) // no name is no conflict
	if _, err := l.Update(context.Background(), first.ID, func(r *machine.Record) error { r.State = sdk.Stopped; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := l.Add(context.Background(), &second); err != nil {
		t.Errorf("a name that is free again: %v", err)
	}
	for _, bad := range []string{"sb-x", "a b", "../x", "-x", "a/b", strings.Repeat("x", 64), "ä"} {
		r := machine.NewRecord()
		r.Name = bad
		if err := l.Add(context.Background(), &r); err == nil {
			t.Errorf("the name %q was accepted", bad)
		}
	}
}

func TestCorruptRecordsHideNothing(t *testing.T) {
	l, dir := openLedger(t)
	add(t, l, "sb-aaaaaaaaaa", "fine", sdk.Running)
	for name, content := range map[string]string{
		"sb-bbbbbbbbbb.json": "{half",
		"sb-cccccccccc.json": `{"id":"sb-other","key":"k"}`,
		"sb-dddddddddd.json": `{"version":99,"id":"sb-dddddddddd","key":"k"}`,
		"sb-eeeeeeeeee.json": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := l.List()
	if len(all) != 1 || err == nil {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, want := range []string{"bbbbbbbbbb", "cccccccccc", "dddddddddd", "eeeeeeeeee", "newer version"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not tell of %s: %v", want, err)
		}
	}
	if r, err := l.Resolve("fine"); err != nil || r.ID != "sb-aaaaaaaaaa" {
		t.Errorf("resolve: %v", err)
	}
	var corrupt *machine.CorruptError
	if _, err := l.Resolve("sb-bbbb"); !errors.As(err, &corrupt) {
		t.Errorf("resolve a corrupt one: %v", err)
	}
}

func TestRecordsArePrivateAndKeptWhole(t *testing.T) {
	l, dir := openLedger(t)
	r := add(t, l, "sb-aaaaaaaaaa", "x", sdk.Running)
	info, err := os.Stat(filepath.Join(dir, r.ID+".json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, err := l.Update(context.Background(), r.ID, func(r *machine.Record) error { r.CostPerHour++; return nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if r, _ = l.Get(r.ID); r.CostPerHour != 20 {
		t.Errorf("%v of 20 changes were kept", r.CostPerHour)
	}
	refuse := errors.New("no")
	if _, err := l.Update(context.Background(), r.ID, func(r *machine.Record) error { r.CostPerHour = 0; return refuse }); !errors.Is(err, refuse) {
		t.Error(err)
	}
	if r, _ = l.Get(r.ID); r.CostPerHour != 20 {
		t.Error("a refused change was written")
	}
}

// What a newer version has noted stays, also in parts of the record; what is deleted goes.
func TestUpdateKeepsWhatANewerVersionHasNoted(t *testing.T) {
	l, dir := openLedger(t)
	r := add(t, l, "sb-aaaaaaaaaa", "x", sdk.Running)
	path := filepath.Join(dir, r.ID+".json")
	text := `{"version":1,"id":"sb-aaaaaaaaaa","key":"k","owner":"o","provider":"cloud","state":"running","message":"known",
		"created_at":"2030-01-01T00:00:00Z","updated_at":"2030-01-01T00:00:00Z","later":{"n":12345678901234567890},
		"lease":{"kind":"attached","ttl_seconds":60,"pace":7},
		"services":[{"name":"gone","mark":1},{"name":"stays","mark":2}],
		"extra":{"theirs":{"a":[1]}}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Heartbeat(t.Context(), r.ID); err != nil {
		t.Fatal(err)
	}
	_, err := l.Update(t.Context(), r.ID, func(r *machine.Record) error {
		r.Message, r.Services = "", append(r.Services[1:2:2], machine.Service{Name: "new"})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Message  *string
		Later    struct{ N json.Number }
		Lease    struct{ Pace int }
		Services []struct {
			Name string
			Mark int
		}
		Extra struct{ Theirs struct{ A []int } }
	}
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &got)
	}
	if err != nil || got.Message != nil || got.Later.N != "12345678901234567890" || got.Lease.Pace != 7 || len(got.Extra.Theirs.A) != 1 {
		t.Errorf("%v, %s", err, data)
	}
	if s := got.Services; len(s) != 2 || s[0].Name != "stays" || s[0].Mark != 2 || s[1].Mark != 0 {
		t.Errorf("services %+v", s)
	}
	if r, err = l.Get(r.ID); err != nil || r.Lease.Heartbeat.IsZero() {
		t.Errorf("%+v, %v", r.Lease, err)
	}
}

// Only starts that go on count, and the oldest of them.
func TestBegun(t *testing.T) {
	l, dir := openLedger(t)
	begun := func() time.Time {
		t.Helper()
		at, err := l.Begun()
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	killed := filepath.Join(dir, "starting", "begun-killed")
	if err := os.WriteFile(killed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if at := begun(); !at.IsZero() {
		t.Errorf("a start whose program has died goes on since %s", at)
	}
	endFirst, err := l.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first := begun()
	endSecond, err := l.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if at := begun(); first.IsZero() || !at.Equal(first) {
		t.Errorf("the oldest began at %s instead of %s", at, first)
	}
	endFirst()
	if at := begun(); at.Before(first) {
		t.Errorf("the second began at %s, the first at %s", at, first)
	}
	endSecond()
	if at := begun(); !at.IsZero() {
		t.Errorf("a start that has ended goes on since %s", at)
	}
}

func TestServicesOfARecord(t *testing.T) {
	var r machine.Record
	r.SetService(machine.Service{Name: "a", Token: "1"})
	r.SetService(machine.Service{Name: "b"})
	r.SetService(machine.Service{Name: "a", Token: "2"})
	if s, ok := r.Service("a"); len(r.Services) != 2 || !ok || s.Token != "2" {
		t.Errorf("%+v", r.Services)
	}
}

func TestLease(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	l := machine.NewLease(machine.Attached, time.Minute, now)
	if l.Expired(now.Add(time.Minute)) || !l.Expired(now.Add(61*time.Second)) {
		t.Errorf("%+v", l)
	}
	if l = l.Extend(now.Add(time.Hour)); l.Expired(now.Add(time.Hour + 59*time.Second)) {
		t.Errorf("%+v", l)
	}
	if machine.NewLease(machine.Detached, 0, now).Expired(now.Add(1e6 * time.Hour)) {
		t.Error("a lease without a limit has ended")
	}
}
