// Package notebook serves the notebooks of a sandbox to agents as MCP tools. It
// needs nothing but the jupyter_url. docs/notebook.md has the tools.
//
// A cell runs in the sandbox whether or not anybody waits for it: a tool that takes
// longer than its client waits answers with what has come so far, and the cell goes on.
package notebook

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/internal/arguments"
	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/mcp/internal/serve"
	"github.com/seer-engine/seer/engine/mcp/internal/task"
	"github.com/seer-engine/seer/engine/notebook"
)

// DefaultOut is the folder in which notebooks are saved unless it is said.
const DefaultOut = "outputs"

// NoOut is the [Options].OutDir of a server that saves nothing: a later one may, from
// what the sandbox has.
const NoOut = "-"

// Options say which notebooks are served. Only Address is needed.
type Options struct {
	Address notebook.Address
	Page    string        // the jupyter_url for a person's browser; empty = Address, where a browser gets there
	OutDir  string        // where notebooks are saved; empty = DefaultOut, NoOut = nowhere
	Session string        // that clients are attached to from the start; empty = none
	Wait    time.Duration // after which a running cell is handed over; 0 = as the client's name says
	Version string        // of the program, told to the client
	Logger  hclog.Logger  // nil = discard; must not write to the transport's stream
}

// Serve serves one client until it goes away or ctx ends. The notebook service must
// answer when Serve begins. Cells that still run when Serve returns go on.
func Serve(ctx context.Context, o Options, transport mcp.Transport) error {
	server, end, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer end()
	return serve.Serve(ctx, server, transport)
}

// Handler serves those whom guard lets in over streamable HTTP, as [Serve] does. The
// function that comes with the handler saves the notebooks a last time, once nobody is served any more.
func Handler(ctx context.Context, o Options, guard serve.Guard) (http.Handler, func(), error) {
	return serve.Mount(guard, func() (*mcp.Server, func(), error) {
		return open(ctx, o)
	})
}

type server struct {
	opts   Options
	log    hclog.Logger
	client *notebook.Client
	mcp    *mcp.Server

	ctx  context.Context // ends with the server
	stop context.CancelFunc
	wg   sync.WaitGroup

	jobs task.Set[*job] // by execution

	mirrors mirrors
	inUse   inUse
}

const (
	// openPatience is how long it may take until somebody listens where the notebook service
	// is to be. Clients that start this server give up after 10 seconds and more.
	openPatience = 8 * time.Second
	// openQuiet is after what time is said what is waited for.
	openQuiet = 2 * time.Second
)

// open returns a server and what ends it.
func open(ctx context.Context, o Options) (*mcp.Server, func(), error) {
	if o.OutDir == "" {
		o.OutDir = DefaultOut
	}
	s := &server{opts: o, log: o.Logger, client: notebook.NewClient(o.Address),
		jobs: task.Set[*job]{Keep: keptJobs}}
	if s.log == nil {
		s.log = hclog.NewNullLogger()
	}
	first := notebook.NewClient(o.Address)
	first.Patience = openPatience
	defer first.Close()
	if err := meet(ctx, first, o.Address, s.log); err != nil {
		return nil, nil, err
	}
	s.ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.mirrors.ctx, s.mirrors.client, s.mirrors.dir, s.mirrors.log = s.ctx, s.client, o.OutDir, s.log
	s.inUse.byClient = map[string][]string{}
	if o.Session != "" {
		if _, err := first.Session(ctx, o.Session); err != nil {
			s.stop()
			return nil, nil, err
		}
		s.inUse.given = o.Session
		s.mirrors.start(o.Session)
	}
	s.start()
	return s.mcp, s.close, nil
}

// meet waits for the notebook service, and says so where it takes long.
func meet(ctx context.Context, first *notebook.Client, at notebook.Address, log hclog.Logger) error {
	slow := time.AfterFunc(openQuiet, func() {
		log.Warn("no answer from Jupyter yet", "at", at.String(), "patience", openPatience.String())
	})
	defer slow.Stop()
	_, err := first.Info(ctx)
	return err
}

// page is what a person can open in a browser; empty where nothing is known.
func (s *server) page() string {
	if a := s.opts.Address; s.opts.Page != "" || a.Dial != nil || strings.HasPrefix(a.URL, "unix:") {
		return s.opts.Page
	}
	return s.opts.Address.Full()
}

// close leaves the cells that run, and saves the notebooks a last time.
func (s *server) close() {
	s.stop()
	s.wg.Wait()
	s.mirrors.wg.Wait()
	s.client.Close()
}

const instructions = `Runs code in Jupyter notebooks of a sandbox, whose files, GPUs and models the code sees. Begin with start_new_session (or attach_to_session, to go on with a notebook that runs already), then execute_code; variables stay between cells. The user sees the same notebook in a browser; saved_to says where its copy on the user's computer is.
A cell that takes long is not an error: it continues, the answer has "state": "running", and wait_execution waits for it. A user may edit cells, too: read_notebook shows the notebook as it is now.`

func (s *server) start() {
	s.mcp = serve.NewServer("notebook", s.opts.Version, instructions)
	s.addSessionTools()
	s.addCellTools()
	s.addResources()
}

// add adds a tool whose arguments are read into an A.
func add[A any](s *server, t *mcp.Tool, f func(context.Context, *mcp.CallToolRequest, A) *mcp.CallToolResult) {
	t.Annotations.Title = t.Title
	s.mcp.AddTool(t, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in A
		if err := arguments.Strict(t.InputSchema, arguments.Renamed(t.InputSchema, req.Params.Arguments, cellNames()...), &in); err != nil {
			return reply.BadArguments(t.Name, err), nil
		}
		return f(ctx, req, in), nil
	})
}

// cellNames are the arguments that have a cell's content, in one tool or another:
// each tool also takes the name that another one has for it.
func cellNames() []string { return []string{"code", "source", "content"} }

// badArgument is the failure of a tool that was called in a way that cannot work.
func badArgument(tool, text string) *mcp.CallToolResult {
	return reply.BadArguments(tool, errors.New(text))
}
