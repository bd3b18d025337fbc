package auth

import (
	"cmp"
	"context"
	"crypto/subtle"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/lazyregexp"
)

// Session is a key to the sandbox for somebody who is not its owner.
type Session struct {
	protocol.SessionSpec
	ID      string `json:"id"`
	Created int64  `json:"created"`

	ctx    context.Context // until it is revoked
	cancel context.CancelFunc
}

// Sessions are the session tokens of a machine.
type Sessions struct {
	mu    sync.Mutex
	table map[string]*Session
}

const maxSessions = 1000

var sessionID = lazyregexp.New(`^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}$`)

// CheckSession refuses an id or a specification that cannot be a session's.
func CheckSession(id string, spec protocol.SessionSpec) error {
	switch {
	case !sessionID().MatchString(id):
		return protocol.Errorf(protocol.Invalid, "the session id %q is not 1 to 100 letters, digits, _ . and -", id)
	case len(spec.TokenSHA256) != 64 || strings.Trim(strings.ToLower(spec.TokenSHA256), "0123456789abcdef") != "":
		return protocol.Errorf(protocol.Invalid, "the session %s needs the SHA-256 of its token in hex", id)
	case spec.Kind != protocol.SessionShell:
		return protocol.Errorf(protocol.Invalid, "the session kind %q is not %q, the only one there is", spec.Kind, protocol.SessionShell)
	}
	return nil
}

// Put adds a session, or gives one another token.
func (t *Sessions) Put(id string, spec protocol.SessionSpec, now int64) error {
	spec.TokenSHA256 = strings.ToLower(spec.TokenSHA256)
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.table[id]
	for _, v := range t.table {
		if v.ID != id && v.TokenSHA256 == spec.TokenSHA256 {
			return protocol.Errorf(protocol.Conflict, "another session has the same token")
		}
	}
	switch {
	case old != nil && old.SessionSpec == spec:
		return nil // a repeat
	case old != nil:
		old.cancel()
	case len(t.table) >= maxSessions:
		return protocol.Errorf(protocol.Conflict, "the machine has %d sessions; revoke some", maxSessions)
	}
	t.add(&Session{ID: id, SessionSpec: spec, Created: now})
	return nil
}

// add enters a session. t.mu is held.
func (t *Sessions) add(v *Session) {
	v.ctx, v.cancel = context.WithCancel(context.Background())
	if t.table == nil {
		t.table = map[string]*Session{}
	}
	t.table[v.ID] = v
}

// Restore takes up what a runtime before this one has remembered.
func (t *Sessions) Restore(saved []*Session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, v := range saved {
		t.add(v)
	}
}

// Remove revokes a session; false if there is none.
func (t *Sessions) Remove(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.table[id]
	if v == nil {
		return false
	}
	delete(t.table, id)
	v.cancel()
	return true
}

// RemoveAll revokes every session.
func (t *Sessions) RemoveAll() {
	for _, v := range t.All() {
		t.Remove(v.ID)
	}
}

// All lists the sessions by their names.
func (t *Sessions) All() []*Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.SortedFunc(maps.Values(t.table), func(a, b *Session) int { return cmp.Compare(a.ID, b.ID) })
}

// tokenOf finds the session of a token's hash. All are looked at, so that the time tells
// nothing.
func (t *Sessions) tokenOf(hash string) *Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found *Session
	for _, v := range t.table {
		if subtle.ConstantTimeCompare([]byte(v.TokenSHA256), []byte(hash)) == 1 {
			found = v
		}
	}
	return found
}

// until has a request end when the session is revoked.
func (v *Session) until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(v.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
