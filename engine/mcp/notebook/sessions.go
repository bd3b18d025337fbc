package notebook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/mcp/internal/task"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/protocol"
)

// session is one as agents see it.
type session struct {
	ID             string                `json:"session_id"`
	Path           string                `json:"notebook_path"`
	KernelName     string                `json:"kernel_name"`
	State          notebook.SessionState `json:"state"`
	Message        string                `json:"message,omitempty"`
	Cells          int                   `json:"cells"`
	ExecutionCount int                   `json:"execution_count"`
	Yours          bool                  `json:"in_use,omitempty"` // by this client
	URL            string                `json:"jupyter_url,omitempty"`
	Saved          string                `json:"saved_to,omitempty"` // on the user's computer
	Warning        string                `json:"warning,omitempty"`
	Dropped        string                `json:"dropped,omitempty"` // queued cells that will not run
	Next           string                `json:"next,omitempty"`    // what an agent can do now
}

const interruptTool = "interrupt"

// sessions are all of a sandbox.
type sessions struct {
	Sessions []session `json:"sessions"`
	URL      string    `json:"jupyter_url,omitempty"`
}

// restoring is the answer of the tools that take a notebook up again.
type restoring struct {
	session
	Restored *restored `json:"restored,omitempty"`
	Exec     string    `json:"execution_id,omitempty"`
}

func describeSession(n notebook.Session) session {
	return session{ID: n.ID, Path: n.Path, KernelName: n.KernelName, State: n.State, Message: n.Message, Cells: n.Cells, ExecutionCount: n.ExecutionCount}
}

type (
	noArguments      struct{}
	sessionArguments struct {
		Session string `json:"session_id"`
	}
	startArguments struct {
		Path string `json:"notebook_path"`
		Name string `json:"experiment_name"`
	}
)

func (s *server) addSessionTools() {
	name := text("goes into the notebook's file name")
	path := text("the .ipynb in the sandbox, as list_sessions and start_new_session show paths")
	add(s, &mcp.Tool{
		Name: "start_new_session", Title: "Start a notebook", OutputSchema: answers[session](), Annotations: adds(), InputSchema: schema(props{"experiment_name": name}),
		Description: "Starts a new notebook with its own kernel and selects it for the other tools. It has everything that the experiment has prepared (models, libraries, variables). Call it once at the beginning.",
	}, func(ctx context.Context, req *mcp.CallToolRequest, in struct {
		Name string `json:"experiment_name"`
	}) *mcp.CallToolResult {
		return s.begin(ctx, req, notebook.NewSession{Mode: notebook.New, Name: in.Name})
	})
	add(s, &mcp.Tool{
		Name: "attach_to_session", Title: "Use a running notebook", OutputSchema: answers[session](), Annotations: adds(),
		InputSchema: schema(props{"session_id": text("from list_sessions; needed if several sessions run")}),
		Description: "Uses a session that runs already, with its variables and cells, instead of starting one.",
	}, s.attach)
	add(s, &mcp.Tool{
		Name: "start_session_resume_notebook", Title: "Resume a notebook", OutputSchema: answers[restoring](), Annotations: runs(),
		InputSchema: schema(props{"notebook_path": path, "experiment_name": name}, "notebook_path"),
		Description: "Opens an existing notebook in place in a new kernel and runs all its code cells again to restore its variables. restored.errors lists the cells that failed.",
	}, s.restorer("start_session_resume_notebook", notebook.Resume))
	add(s, &mcp.Tool{
		Name: "start_session_continue_notebook", Title: "Continue in a copy of a notebook", OutputSchema: answers[restoring](), Annotations: runs(),
		InputSchema: schema(props{"notebook_path": path, "experiment_name": name}, "notebook_path"),
		Description: "As start_session_resume_notebook, but in a copy: the notebook itself stays as it is.",
	}, s.restorer("start_session_continue_notebook", notebook.Continue))
	add(s, &mcp.Tool{
		Name: "list_sessions", Title: "List notebooks", OutputSchema: answers[sessions](), Annotations: reads(), InputSchema: schema(props{}),
		Description: "Lists all sessions of the sandbox, including those of others, with their notebooks and states.",
	}, s.list)
	s.addEndTools()
}

func (s *server) addEndTools() {
	add(s, &mcp.Tool{
		Name: interruptTool, Title: "Interrupt", OutputSchema: answers[session](), Annotations: ends(), InputSchema: schema(props{"session_id": sessionArgument()}),
		Description: "Interrupts the running cell (KeyboardInterrupt) and drops the queued ones. Variables stay. Answers when the cell has ended, or after 10 seconds with state busy if it still runs: wait, or restart.",
	}, s.onSession(interruptTool, func(ctx context.Context, id string) (notebook.Session, error) { return s.client.Interrupt(ctx, id) }))
	add(s, &mcp.Tool{
		Name: "restart", Title: "Restart the kernel", OutputSchema: answers[session](), Annotations: ends(), InputSchema: schema(props{"session_id": sessionArgument()}),
		Description: "Gives the notebook a new kernel: all variables are gone, what the experiment has prepared is set up again. For a kernel that has died or hangs. Cells stay; run those that you need again.",
	}, s.onSession("restart", func(ctx context.Context, id string) (notebook.Session, error) { return s.client.Restart(ctx, id, true) }))
	add(s, &mcp.Tool{
		Name: "shutdown_session", Title: "End a notebook's kernel", OutputSchema: answers[session](), Annotations: ends(), InputSchema: schema(props{"session_id": sessionArgument()}),
		Description: "Ends the session's kernel and frees its memory. The notebook stays, and is saved on the user's computer.",
	}, s.shutdown)
}

// begin starts a session; a new one each time.
func (s *server) begin(ctx context.Context, req *mcp.CallToolRequest, n notebook.NewSession) *mcp.CallToolResult {
	stop := task.Report(ctx, req, "session", task.Silent{})
	defer stop()
	made, _, err := s.client.StartSession(ctx, n)
	if err != nil {
		return refusal(err)
	}
	return s.entered(ctx, req, made)
}

// entered makes the session the one that the client uses, and tells it.
func (s *server) entered(ctx context.Context, req *mcp.CallToolRequest, n notebook.Session) *mcp.CallToolResult {
	s.use(req, n.ID)
	answer := describeSession(n)
	answer.URL = s.page()
	answer.Saved, answer.Warning = s.mirrors.save(ctx, n.ID)
	return reply.Answer(answer)
}

func (s *server) attach(ctx context.Context, req *mcp.CallToolRequest, in sessionArguments) *mcp.CallToolResult {
	if in.Session != "" {
		n, err := s.client.Session(ctx, in.Session)
		if err != nil {
			return s.failure(err, req, in.Session)
		}
		if !live(n) {
			return reply.Problem(fmt.Sprintf("the session %s is %s: it cannot be attached to; use start_session_resume_notebook with its notebook, or start_new_session", n.ID, n.State))
		}
		return s.entered(ctx, req, n)
	}
	all, err := s.client.Sessions(ctx)
	if err != nil {
		return refusal(err)
	}
	found := slices.DeleteFunc(all, func(n notebook.Session) bool { return !live(n) })
	switch len(found) {
	case 0:
		return reply.Problem("no session runs; start one with start_new_session")
	case 1:
		return s.entered(ctx, req, found[0])
	}
	return reply.Problem("several sessions run; say which with session_id:\n" + describe(found))
}

// live reports whether a session has a notebook that can be used.
func live(n notebook.Session) bool {
	return n.Path != "" && n.State != notebook.SessionClosed && n.State != notebook.SessionPrepared
}

func describe(list []notebook.Session) string {
	var b strings.Builder
	for _, n := range list {
		fmt.Fprintf(&b, "- %s: %s (%s, %d cells)\n", n.ID, n.Path, n.State, n.Cells)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (s *server) list(ctx context.Context, req *mcp.CallToolRequest, _ noArguments) *mcp.CallToolResult {
	all, err := s.client.Sessions(ctx)
	if err != nil {
		return refusal(err)
	}
	found := sessions{Sessions: []session{}, URL: s.page()}
	mine := s.inUse.of(clientOf(req))
	for _, n := range all {
		if n.State == notebook.SessionPrepared {
			continue // which is no notebook yet
		}
		one := describeSession(n)
		one.Yours = slices.Contains(mine, n.ID)
		found.Sessions = append(found.Sessions, one)
	}
	return reply.Answer(found)
}

// onSession is a tool that does something to a session as a whole.
func (s *server) onSession(tool string, f func(context.Context, string) (notebook.Session, error)) func(context.Context, *mcp.CallToolRequest, sessionArguments) *mcp.CallToolResult {
	return func(ctx context.Context, req *mcp.CallToolRequest, in sessionArguments) *mcp.CallToolResult {
		id, problem := s.choose(ctx, req, in.Session)
		if problem != nil {
			return problem
		}
		stop := task.Report(ctx, req, tool, task.Silent{})
		defer stop()
		n, err := f(ctx, id)
		if err != nil {
			return s.failure(err, req, id)
		}
		s.use(req, id)
		answer := describeSession(n)
		answer.Saved, answer.Warning = s.mirrors.save(ctx, id)
		switch {
		case n.Dropped == 1:
			answer.Dropped = "1 queued cell was dropped and has not run; run it again if you need it"
		case n.Dropped > 1:
			answer.Dropped = fmt.Sprintf("%d queued cells were dropped and have not run; run them again if you need them", n.Dropped)
		}
		if tool == interruptTool && n.State == notebook.SessionBusy {
			answer.Next = "The cell still runs after the interrupt: its code catches or ignores KeyboardInterrupt, or is in a library that does not return. wait_execution waits for it; restart ends it and loses all variables."
		}
		return reply.Answer(answer)
	}
}

func (s *server) shutdown(ctx context.Context, req *mcp.CallToolRequest, in sessionArguments) *mcp.CallToolResult {
	id, problem := s.choose(ctx, req, in.Session)
	if problem != nil {
		return problem
	}
	n, err := s.client.Session(ctx, id)
	if err != nil {
		return s.failure(err, req, id)
	}
	answer := describeSession(n)
	s.mirrors.start(id)
	answer.Saved, answer.Warning = s.mirrors.save(ctx, id)
	if err := s.client.EndSession(ctx, id); err != nil && protocol.CodeOf(err) != protocol.NotFound {
		return s.failure(err, req, id)
	}
	s.leave(id)
	answer.State = notebook.SessionClosed
	return reply.Answer(answer)
}
