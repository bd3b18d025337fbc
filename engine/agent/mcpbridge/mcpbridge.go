// Package mcpbridge carries messages between an agent that has no network and an MCP server with an
// address. The agent starts a program that speaks over standard input and output, as every client
// of MCP can; the engine makes the requests, so that the agent has neither a way to another host nor
// the headers, which may have a key.
package mcpbridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Server is an MCP server that is reached by Streamable HTTP.
type Server struct {
	URL     string
	Headers map[string]string // of each request
}

const (
	maxMessage = 64 << 20        // bytes
	leaving    = 5 * time.Second // for the request that ends a session

	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
)

// Serve takes connections until ctx ends, and closes l. Each connection is a session of its own, in
// which a message is a line of JSON. What a server says outside of answers is not asked for.
func Serve(ctx context.Context, l net.Listener, s Server) {
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	var sessions sync.WaitGroup
	for {
		conn, err := l.Accept()
		if err != nil {
			break
		}
		sessions.Go(func() { newSession(ctx, s, conn).run(ctx) })
	}
	sessions.Wait()
}

// session is one connection of the agent.
type session struct {
	server Server
	client *http.Client
	conn   net.Conn
	host   string // for errors: the URL may have a key

	mu      sync.Mutex // of what follows, and of writing to conn
	id      string
	version string
}

func newSession(ctx context.Context, s Server, conn net.Conn) *session {
	host := s.URL
	if u, err := url.Parse(s.URL); err == nil {
		host = u.Scheme + "://" + u.Host
	}
	// Another host than the one that was confirmed is not followed to.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &session{server: s, conn: conn, host: host, client: &http.Client{CheckRedirect: stay}}
}

func (s *session) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(ctx, func() { _ = s.conn.Close() })()
	var requests sync.WaitGroup
	lines := bufio.NewScanner(s.conn)
	lines.Buffer(nil, maxMessage)
	for lines.Scan() {
		text := bytes.Clone(lines.Bytes())
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(text, &m) != nil {
			continue
		}
		if m.Method == "" || m.ID == nil { // no answer comes, and their order counts
			_ = s.post(ctx, text, "")
			continue
		}
		requests.Go(func() {
			if err := s.post(ctx, text, m.Method); err != nil {
				s.refuse(m.ID, err)
			}
		})
	}
	requests.Wait() // the agent may have closed only its side
	cancel()
	s.leave(context.WithoutCancel(ctx))
}

// post sends a message and passes on what is answered.
func (s *session) post(ctx context.Context, message []byte, method string) error {
	resp, err := s.do(ctx, http.MethodPost, bytes.NewReader(message))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode >= 300:
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
		return fmt.Errorf("it answered %s: %s", resp.Status, bytes.TrimSpace(said))
	case method == "":
		return nil
	case kind == "text/event-stream":
		return s.events(resp, method)
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxMessage))
	if err != nil {
		return err
	}
	return s.pass(resp, method, answer)
}

func (s *session) do(ctx context.Context, method string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.server.URL, body)
	if err != nil {
		return nil, err
	}
	all := map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
	maps.Copy(all, s.server.Headers)
	s.mu.Lock()
	all[headerSession], all[headerVersion] = s.id, s.version
	s.mu.Unlock()
	for name, value := range all {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := s.client.Do(req)
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err // without the URL
	}
	return resp, err
}

// events passes on the messages of a stream.
func (s *session) events(resp *http.Response, method string) error {
	var data []string
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxMessage)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		switch {
		case field == "data":
			data = append(data, strings.TrimPrefix(value, " "))
		case lines.Text() == "" && len(data) > 0:
			if err := s.pass(resp, method, []byte(strings.Join(data, "\n"))); err != nil {
				return err
			}
			data = nil
		}
	}
	return lines.Err()
}

// pass gives a message of the server to the agent. The answer to initialize begins the session.
func (s *session) pass(resp *http.Response, method string, message []byte) error {
	var line bytes.Buffer
	if err := json.Compact(&line, message); err != nil {
		return fmt.Errorf("its answer is no JSON: %w", err)
	}
	var m struct {
		Result struct {
			Version string `json:"protocolVersion"`
		} `json:"result"`
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if method == "initialize" && json.Unmarshal(message, &m) == nil && m.Result.Version != "" {
		s.id, s.version = resp.Header.Get(headerSession), m.Result.Version
	}
	_, err := s.conn.Write(append(line.Bytes(), '\n'))
	return err
}

// refuse answers a request that the server did not answer.
func (s *session) refuse(id json.RawMessage, why error) {
	text, _ := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": -32000, "message": fmt.Sprintf("the MCP server at %s: %v", s.host, why)},
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.conn.Write(append(text, '\n')) // perhaps it has gone
}

// leave ends the session at the server, which may not offer that.
func (s *session) leave(ctx context.Context) {
	if s.id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, leaving)
	defer cancel()
	if resp, err := s.do(ctx, http.MethodDelete, nil); err == nil {
		_ = resp.Body.Close()
	}
}
