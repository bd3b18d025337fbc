package auth

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// TestGuard sends each kind of token to each kind of route.
func TestGuard(t *testing.T) {
	t.Parallel()
	sessions := &Sessions{}
	if err := sessions.Put("visitor", protocol.SessionSpec{TokenSHA256: protocol.HashToken("session"), Kind: protocol.SessionShell}, 1); err != nil {
		t.Fatal(err)
	}
	tokens := map[string]protocol.Token{
		protocol.HashToken("guest"): {ID: "t-guest"},
		protocol.HashToken("late"):  {ID: "t-late", Expires: time.Now().Unix() - 1},
	}
	g := NewGuard(protocol.HashToken("admin"), sessions, func(hash string) (string, protocol.Token, bool) {
		token, ok := tokens[hash]
		return "tools", token, ok
	})
	const yes, no, unknown = http.StatusOK, http.StatusForbidden, http.StatusUnauthorized
	for token, want := range map[string]map[Access]int{
		"admin":   {AdminOnly: yes, OwnService: yes, SessionToken: yes, AnyToken: yes, NoToken: yes},
		"session": {AdminOnly: no, OwnService: no, SessionToken: yes, AnyToken: yes, NoToken: yes},
		"guest":   {AdminOnly: no, OwnService: yes, SessionToken: no, AnyToken: yes, NoToken: yes},
		"late":    {AdminOnly: unknown, OwnService: unknown, SessionToken: unknown, AnyToken: unknown, NoToken: yes},
		"other":   {AdminOnly: unknown, OwnService: unknown, SessionToken: unknown, AnyToken: unknown, NoToken: yes},
		"":        {AdminOnly: unknown, OwnService: unknown, SessionToken: unknown, AnyToken: unknown, NoToken: yes},
	} {
		for access, status := range want {
			if got := ask(g, access, token, "tools"); got != status {
				t.Errorf("token %q, access %d: %d, not %d", token, access, got, status)
			}
		}
	}
	if got := ask(g, OwnService, "guest", "another"); got != no {
		t.Errorf("a token opens another service: %d", got)
	}
	sessions.RemoveAll()
	if got := ask(g, SessionToken, "session", ""); got != unknown {
		t.Errorf("a revoked session: %d", got)
	}
	g.SetAdmin(protocol.HashToken("new"))
	if ask(g, AdminOnly, "admin", "") != unknown || ask(g, AdminOnly, "new", "") != yes {
		t.Error("the admin's token was not replaced")
	}
}

// ask sends a request with a token, and returns the status of the answer.
func ask(g *Guard, a Access, token, service string) int {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.SetPathValue("service", service)
	w := httptest.NewRecorder()
	g.Protect(a, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })(w, r)
	return w.Code
}
