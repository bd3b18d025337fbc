package notebook

import (
	"context"
	"fmt"
	"slices"
	"sync"

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

// inUse are the sessions that each client uses.
type inUse struct {
	mu       sync.Mutex
	given    string              // what a client uses that has begun none; empty = nothing
	byClient map[string][]string // client → sessions
}

func (u *inUse) add(client, id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !slices.Contains(u.byClient[client], id) {
		u.byClient[client] = append(u.byClient[client], id)
	}
}

func (u *inUse) of(client string) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	list := slices.Clone(u.byClient[client])
	if len(list) == 0 && u.given != "" {
		list = []string{u.given}
	}
	return list
}

func (u *inUse) remove(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for client, list := range u.byClient {
		u.byClient[client] = slices.DeleteFunc(list, func(other string) bool { return other == id })
	}
	if u.given == id {
		u.given = ""
	}
}

// use notes that a client uses a session, which is saved from now on.
func (s *server) use(req *mcp.CallToolRequest, id string) {
	s.inUse.add(clientOf(req), id)
	s.mirrors.start(id)
}

// leave forgets a session that has ended.
func (s *server) leave(id string) {
	s.inUse.remove(id)
	s.mirrors.stop(id)
}

// choose is the session that a tool is about: the named one, or the only one that the
// client uses.
func (s *server) choose(ctx context.Context, req *mcp.CallToolRequest, id string) (string, *mcp.CallToolResult) {
	if id != "" {
		return id, nil
	}
	list := s.inUse.of(clientOf(req))
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
