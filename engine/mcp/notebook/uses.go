package notebook

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/protocol"
)

// clientOf names the client of a request.
func clientOf(req *mcp.CallToolRequest) string {
	if req.Session == nil {
		return ""
	}
	return req.Session.ID()
}

// use notes that a client uses a session, which is saved from now on.
func (s *server) use(req *mcp.CallToolRequest, id string) {
	s.mu.Lock()
	if who := clientOf(req); !slices.Contains(s.used[who], id) {
		s.used[who] = append(s.used[who], id)
	}
	s.mu.Unlock()
	s.mirror(id)
}

// usedBy are the sessions that a client uses.
func (s *server) usedBy(req *mcp.CallToolRequest) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Clone(s.used[clientOf(req)])
	if len(list) == 0 && s.opts.Session != "" {
		list = []string{s.opts.Session}
	}
	return list
}

// leave forgets a session that has ended.
func (s *server) leave(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for who, list := range s.used {
		s.used[who] = slices.DeleteFunc(list, func(other string) bool { return other == id })
	}
	if s.opts.Session == id {
		s.opts.Session = ""
	}
	if m := s.mirrors[id]; m != nil {
		m.stop()
		delete(s.mirrors, id)
	}
}

// choose is the session that a tool is about: the named one, or the only one that the
// client uses.
func (s *server) choose(ctx context.Context, req *mcp.CallToolRequest, id string) (string, *mcp.CallToolResult) {
	if id != "" {
		return id, nil
	}
	list := s.usedBy(req)
	switch len(list) {
	case 1:
		return list[0], nil
	case 0:
		return "", reply.Problem("no session is in use: begin with start_new_session, or with attach_to_session if one runs already" + s.running(ctx))
	}
	return "", reply.Problem(fmt.Sprintf("you use %d sessions; say with session_id which is meant%s", len(list), s.running(ctx)))
}

// running lists the sessions in a message, as far as they are known.
func (s *server) running(ctx context.Context) string {
	all, err := s.client.Sessions(ctx)
	all = slices.DeleteFunc(all, func(n notebook.Session) bool { return !live(n) })
	if err != nil || len(all) == 0 {
		return ""
	}
	return ":\n" + describe(all)
}

// failure is what the service did not do, in its own words, and what can be done.
func (s *server) failure(err error, req *mcp.CallToolRequest, id string) *mcp.CallToolResult {
	if protocol.CodeOf(err) == protocol.NotFound {
		if n, e := s.client.Session(s.ctx, id); protocol.CodeOf(e) == protocol.NotFound || e == nil && n.State == notebook.SessionClosed {
			s.leave(id)
			return reply.Problem(fmt.Sprintf("the session %s is not there any more (%v); start_session_resume_notebook opens its notebook again, start_new_session starts a new one%s", id, told{err}, s.running(s.ctx)))
		}
	}
	if protocol.CodeOf(err) == protocol.Conflict {
		if n, e := s.client.Session(s.ctx, id); e == nil && n.State == notebook.SessionDead {
			return reply.Problem(fmt.Sprintf("the kernel of the session %s is dead: %s. The tool restart gives the notebook a new one; its variables are gone, its cells stay.", id, n.Message))
		}
	}
	return refusal(err)
}

// mirror is a notebook that is kept on the user's computer.
type mirror struct {
	*notebook.Mirror
	stop context.CancelFunc
}

// mirror begins to save a session's notebook.
func (s *server) mirror(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mirrors[id] != nil || s.opts.OutDir == NoOut {
		return
	}
	ctx, stop := context.WithCancel(s.ctx)
	m := &mirror{stop: stop, Mirror: notebook.NewMirror(s.client, id, s.opts.OutDir, func(text string) {
		s.log.Warn(text, "session", id)
	})}
	s.mirrors[id] = m
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		m.Run(ctx)
	}()
}

// savePatience is how long a tool waits for its notebook to be saved.
const savePatience = 10 * time.Second

// save saves a notebook before its tool answers. It says where it is, or why it is not.
func (s *server) save(ctx context.Context, id string) (saved, warning string) {
	s.mu.Lock()
	m := s.mirrors[id]
	s.mu.Unlock()
	if m == nil {
		return "", ""
	}
	ctx, stop := context.WithTimeout(ctx, savePatience)
	defer stop()
	if err := m.Save(ctx); err != nil {
		return "", fmt.Sprintf("the notebook could not be saved on the user's computer: %v; it is in the sandbox and will be tried again", told{err})
	}
	saved = m.Path()
	if whole, err := filepath.Abs(saved); err == nil && saved != "" {
		saved = whole
	}
	return saved, ""
}
