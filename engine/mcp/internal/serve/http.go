// Package serve connects an MCP server with its clients: over HTTP with a token, or over one
// connection.
package serve

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// MinToken is the shortest token that is taken.
	MinToken = 16
	// sessionIdle is how long a session of HTTP may be silent.
	sessionIdle = time.Hour
	// keptEvents is what is kept for clients that come back to a stream that broke.
	keptEvents = 16 << 20
	// maxSessions is how many sessions of HTTP there may be at once.
	maxSessions = 256
)

// Guard says who may use a server over HTTP.
type Guard struct {
	Token   string   // that every request has to bring
	Hosts   []string // names in Host besides those of this machine: "mcp.example.org", "10.0.0.7"
	Origins []string // pages of which sites may ask, besides those of this machine: "https://app.example.org"
}

// Valid reports a guard that would let anybody in.
func (g Guard) Valid() error {
	if len(g.Token) < MinToken {
		return errors.New("the token for MCP over HTTP needs at least 16 characters")
	}
	return nil
}

// Protect lets those in who bring the token. Pages of other sites, and names that
// have been made to lead here, are refused before anything is looked at.
func (g Guard) Protect(next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(g.Token))
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		got := sha256.Sum256([]byte(token))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: "owner"}, nil
	}
	inner := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.mayHost(r.Host) {
			http.Error(w, "the Host of the request is not this server", http.StatusForbidden)
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" && !g.mayOrigin(origin) {
			http.Error(w, "pages of that Origin may not ask", http.StatusForbidden)
			return
		}
		inner.ServeHTTP(challenge{w}, r)
	})
}

// challenge says how to be let in, which the SDK does only for OAuth.
type challenge struct{ http.ResponseWriter }

func (c challenge) WriteHeader(status int) {
	if status == http.StatusUnauthorized && c.Header().Get("WWW-Authenticate") == "" {
		c.Header().Set("WWW-Authenticate", `Bearer realm="seer"`)
	}
	c.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (c challenge) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Flush is for streams.
func (c challenge) Flush() { _ = http.NewResponseController(c.ResponseWriter).Flush() }

func (g Guard) mayHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	return local(name) || slices.ContainsFunc(g.Hosts, func(h string) bool {
		return strings.EqualFold(h, name) || strings.EqualFold(h, host)
	})
}

func (g Guard) mayOrigin(origin string) bool {
	if slices.ContainsFunc(g.Origins, func(o string) bool { return strings.EqualFold(strings.TrimSuffix(o, "/"), origin) }) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && local(strings.ToLower(u.Hostname()))
}

// local reports whether a name is always this machine.
func local(name string) bool {
	if name == "localhost" {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// Handler serves a server over streamable HTTP to those whom guard lets in.
func Handler(server *mcp.Server, guard Guard) (http.Handler, error) {
	if err := guard.Valid(); err != nil {
		return nil, err
	}
	return guard.Protect(unguarded(server, maxSessions)), nil
}

// unguarded serves everybody, in at most so many sessions at once.
func unguarded(server *mcp.Server, most int) http.Handler {
	events := mcp.NewMemoryEventStore(nil)
	events.SetMaxBytes(keptEvents)
	next := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		EventStore: events, SessionTimeout: sessionIdle,
		PropagateRequestCancellation: true,
		DisableLocalhostProtection:   true, // Guard does it, and knows which names are allowed
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" && full(server, most) {
			http.Error(w, fmt.Sprintf("a session cannot begin: %d are open; end one of them, or come back later", most), http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func full(server *mcp.Server, most int) bool {
	n := 0
	for range server.Sessions() {
		n++
	}
	return n >= most
}

// Mount is [Handler] for a server that is opened when the guard is known to be good. The
// function that comes with the handler is that of open; where there is no handler, it has
// been called.
func Mount(guard Guard, open func() (*mcp.Server, func(), error)) (http.Handler, func(), error) {
	if err := guard.Valid(); err != nil {
		return nil, nil, err
	}
	server, done, err := open()
	if err != nil {
		return nil, nil, err
	}
	h, err := Handler(server, guard)
	if err != nil {
		done()
		return nil, nil, err
	}
	return h, done, nil
}

// Serve serves one client until it goes away or ctx ends.
func Serve(ctx context.Context, server *mcp.Server, transport mcp.Transport) error {
	session, err := server.Connect(ctx, transport, nil)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { session.Close() })
	defer stop()
	err = session.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
