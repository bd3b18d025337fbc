package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/seer-engine/seer/engine/protocol"
)

// Sessions is the client of the session tokens of a machine. Its methods take the admin
// token.
type Sessions struct{ *transport }

// Put makes token a key to processes, files, trees, watch, usage and ports of the
// machine, under a name (1 to 100 letters, digits, _ . and -). A name that is there gets
// the new token, and the old one opens nothing any more. It takes the admin token.
func (c Sessions) Put(ctx context.Context, id, token string) error {
	return c.json(ctx, http.MethodPut, sessionPath(id), nil, protocol.SessionSpec{TokenSHA256: protocol.HashToken(token), Kind: protocol.SessionShell}, nil)
}

// List lists the session tokens, sorted by name. It takes the admin token.
func (c Sessions) List(ctx context.Context) ([]protocol.SessionInfo, error) {
	return list[protocol.SessionInfo](ctx, c.transport, "/v1/sessions", nil, "sessions")
}

// Delete revokes a session token; connections to ports and watches made with it are closed.
// Processes that it has started continue. It takes the admin token.
func (c Sessions) Delete(ctx context.Context, id string) error {
	return c.json(ctx, http.MethodDelete, sessionPath(id), nil, nil, nil)
}

func sessionPath(id string) string { return "/v1/sessions/" + url.PathEscape(id) }

// Session is where a sandbox is and the token of a session of it: all that an agent
// needs to use the sandbox. It is the content of session.json.
type Session struct {
	Version  int                  `json:"version"`
	Kind     protocol.SessionKind `json:"kind"`
	Endpoint string               `json:"endpoint"` // unix:/path, http://… or https://…
	Token    string               `json:"token"`
	Sandbox  string               `json:"sandbox"`
}

// SessionVersion is the version of the session file.
const SessionVersion = 1

// ReadSession reads a session file.
func ReadSession(path string) (Session, error) {
	return readTokenFile[Session]("session", "start the session again to get one", path)
}

func (s Session) validate() error {
	if s.Version != SessionVersion {
		return fmt.Errorf("version %d is not the version %d that this program reads", s.Version, SessionVersion)
	}
	if s.Kind != protocol.SessionShell {
		return fmt.Errorf("the kind %q is not %q, the only one that this program knows", s.Kind, protocol.SessionShell)
	}
	if s.Token == "" {
		return errors.New("the token must not be empty")
	}
	_, err := parseEndpoint(s.Endpoint)
	return err
}

// Write stores the session at path, readable by its owner alone. A reader sees the old
// file or the new one, never a part.
func (s Session) Write(path string) error {
	s.Version = SessionVersion
	return writeTokenFile("session", path, s)
}

// Client makes a client that can do what the session's token may.
func (s Session) Client() (*Client, error) { return New(s.Endpoint, s.Token) }
