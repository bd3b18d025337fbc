// Package mcp serves the functions of one connection as MCP tools, over the
// official Go SDK. It can do what the connection can: call one service.
//
// A tool's structuredContent is always an object: the function's own where it
// returns one, {"result": value} otherwise. A large result stays in the sandbox
// and is a handle, and a call that takes longer than its client waits goes on while
// the tool answers with the call's name: {"handle": …} and {"call": …}, which the
// output schemas allow. docs/mcp.md tells it all.
package mcp

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/internal/arguments"
	"github.com/seer-engine/seer/engine/mcp/internal/clients"
	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/mcp/internal/serve"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

// DefaultHandleAbove is the size of a result that stays in the sandbox: about what an
// agent can read at once.
const DefaultHandleAbove = 16 << 10

// MinToken is the shortest token of a [Guard] that is taken.
const MinToken = serve.MinToken

// DefaultWait is how long a tool is waited for before its call is handed over,
// where nothing is known of the client.
const DefaultWait = clients.DefaultWait

// Guard says who may use a [Handler].
type Guard = serve.Guard

// Options change how a connection is served. The zero value is fine.
type Options struct {
	Version     string        // of the program, told to the client
	Logger      hclog.Logger  // nil = discard; must not write to the transport's stream
	Wait        time.Duration // after which a call is handed over; 0 = as the client's name says
	HandleAbove int64         // bytes of a result that stays in the sandbox; 0 = DefaultHandleAbove
	// CallIDs ends each result with [call:ID], by which an agent cites the call in its report, and
	// puts the ID under [MetaCall]. Clients whose model sees structured content only get none.
	CallIDs bool

	raw bool // for tests of attacks: texts are shown as they are
}

// Serve serves the functions of a connection until the client goes away or ctx
// ends. The service must answer when Serve begins; if it goes away later, calls
// fail with a tool error until it is back. Clients are told when the interface is
// served again. Calls that still run when Serve returns are not cancelled: they
// linger in the sandbox as those of every client that vanishes, or go on to their end where
// a tool has answered that they do.
func Serve(ctx context.Context, source Source, transport mcp.Transport, o Options) error {
	server, end, err := open(ctx, source, o)
	if err != nil {
		return err
	}
	defer end()
	return serve.Serve(ctx, server, transport)
}

// Handler serves the functions of a connection over streamable HTTP, until ctx ends,
// as [Serve] does. The function that comes with the handler ends
// what it has begun, once nobody is served any more.
func Handler(ctx context.Context, source Source, guard Guard, o Options) (http.Handler, func(), error) {
	return serve.Mount(guard, func() (*mcp.Server, func(), error) {
		return open(ctx, source, o)
	})
}

type server struct {
	link  *link
	log   hclog.Logger
	opts  Options
	mcp   *mcp.Server
	calls *calls
	seen  *seen // handles

	ctx  context.Context // ends with the server
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu    sync.Mutex
	face  sdk.Interface
	tools map[string]*tool
}

// open asks for the functions and starts to watch them. It returns the server and what ends it.
func open(ctx context.Context, source Source, o Options) (*mcp.Server, func(), error) {
	log := o.Logger
	if log == nil {
		log = hclog.NewNullLogger()
	}
	s := &server{link: &link{source: source}, log: log, opts: o, calls: newCalls(), seen: newSeen()}
	face, err := s.link.describe(ctx)
	if err != nil {
		s.link.close()
		return nil, nil, err
	}
	s.start(face)
	if err := s.update(face); err != nil {
		s.link.close()
		return nil, nil, err
	}
	s.ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	if s.link.mayReadLogs(ctx) {
		s.addLogs()
	}
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		s.watch(s.ctx)
	}()
	return s.mcp, s.close, nil
}

func (s *server) close() {
	s.calls.leave()
	s.stop()
	s.wg.Wait()
	s.link.close()
}

func (s *server) start(face sdk.Interface) {
	instructions := face.Doc
	if s.opts.CallIDs {
		instructions = strings.TrimSpace(instructions + "\n\n" + citing)
	}
	s.mcp = mcp.NewServer(
		serve.Implementation(s.link.service(), s.opts.Version),
		&mcp.ServerOptions{
			Instructions:       instructions,
			CompletionHandler:  s.complete,
			SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
			UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
			Capabilities: &mcp.ServerCapabilities{
				Completions: &mcp.CompletionCapabilities{},
				Logging:     &mcp.LoggingCapabilities{}, //nolint:staticcheck // for the versions of MCP that most clients speak
				Tools:       &mcp.ToolCapabilities{ListChanged: true},
				Resources:   &mcp.ResourceCapabilities{ListChanged: true, Subscribe: true},
			},
		})
	s.mcp.AddReceivingMiddleware(s.refreshBeforeList)
	if s.opts.CallIDs {
		s.mcp.AddReceivingMiddleware(withoutOutputs)
	}
	if !s.opts.raw {
		s.mcp.AddReceivingMiddleware(serve.Readable)
	}
	s.addCallTools()
	s.addHandleTool()
	s.addResources()
}

func (o Options) handleAbove() *int64 {
	n := o.HandleAbove
	if n <= 0 {
		n = DefaultHandleAbove
	}
	return &n
}

// refreshBeforeList keeps the tools of the last answer when the service is away.
func (s *server) refreshBeforeList(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "tools/list" {
			s.refresh(ctx)
		}
		return next(ctx, method, req)
	}
}

func (s *server) refresh(ctx context.Context) {
	face, err := s.link.describe(ctx)
	if err == nil {
		err = s.update(face)
	}
	if err != nil {
		s.log.Warn("the functions could not be asked for again", "service", s.link.service(), "error", err)
	}
}

// update makes the tools those of face, and tells the clients. Nothing changes when
// one of them cannot be a tool.
func (s *server) update(face sdk.Interface) error {
	tools, err := newTools(face)
	if err != nil {
		return err
	}
	if s.replace(face, tools) {
		s.updated(docsURI)
	}
	return nil
}

// replace reports whether it has replaced other tools.
func (s *server) replace(face sdk.Interface, tools map[string]*tool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools != nil && face.CodeHash == s.face.CodeHash {
		return false
	}
	for name := range s.tools {
		if tools[name] == nil {
			s.mcp.RemoveTools(name)
		}
	}
	for _, t := range tools {
		s.mcp.AddTool(t.mcp, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return s.call(ctx, t, req), nil
		})
	}
	again := s.tools != nil
	s.tools, s.face = tools, face
	return again
}

// tool is the one of a function, for calls that were begun elsewhere.
func (s *server) tool(name string) *tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tools[name]; t != nil {
		return t
	}
	return &tool{fn: sdk.Function{Name: name}}
}

// call is a tool call of a function of the interface.
func (s *server) call(ctx context.Context, t *tool, req *mcp.CallToolRequest) *mcp.CallToolResult {
	body, err := callBody(t.fn, arguments.Parsed(t.mcp.InputSchema, req.Params.Arguments))
	if err != nil {
		return reply.Failure(&protocol.CallError{Code: protocol.CallBadArguments, Message: err.Error()})
	}
	j, err := s.begin(t, body, s.clientOf(req.Session))
	if err != nil {
		return reply.Failure(err)
	}
	return s.waitForResult(ctx, req, j, clients.WaitOf(req.Session, s.opts.Wait))
}
