// Package mcp serves the functions of one connection as MCP tools, over the
// official Go SDK. It can do what the connection can: call one service.
//
// A tool's structuredContent is always an object: the function's own where it
// returns one, {"result": value} otherwise. Its text is the same JSON.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

// Options change how a connection is served. The zero value is fine.
type Options struct {
	Version string       // of the program, told to the client
	Logger  hclog.Logger // nil = discard; must not write to the transport's stream
}

// Serve serves the functions of a connection until the client goes away or ctx
// ends. The service must answer when Serve begins; if it goes away later, calls
// fail with a tool error until it is back. Its functions are asked for again at
// every tools/list, so that a service that is served anew shows its new ones.
func Serve(ctx context.Context, source Source, transport mcp.Transport, o Options) error {
	s := newServer(source, o)
	defer s.link.close()
	face, err := s.link.describe(ctx)
	if err != nil {
		return err
	}
	s.start(face)
	if err := s.update(face); err != nil {
		return err
	}
	session, err := s.mcp.Connect(ctx, transport, nil)
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

type server struct {
	link *link
	log  hclog.Logger
	opts Options
	mcp  *mcp.Server

	mu    sync.Mutex
	hash  string // of the code behind the tools
	names []string
}

func newServer(source Source, o Options) *server {
	log := o.Logger
	if log == nil {
		log = hclog.NewNullLogger()
	}
	return &server{link: &link{source: source}, log: log, opts: o}
}

func (s *server) start(face sdk.Interface) {
	s.mcp = mcp.NewServer(
		&mcp.Implementation{Name: s.link.service(), Title: "Seer: " + s.link.service(), Version: version(s.opts.Version)},
		&mcp.ServerOptions{
			Instructions: face.Doc,
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
		})
	s.mcp.AddReceivingMiddleware(s.refreshBeforeList)
}

func version(v string) string {
	if v == "" {
		return "dev"
	}
	return v
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

// update makes the tools those of face. Nothing changes when one of them cannot
// be a tool.
func (s *server) update(face sdk.Interface) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names != nil && face.CodeHash == s.hash {
		return nil
	}
	tools := make([]*tool, len(face.Functions))
	for i, fn := range face.Functions {
		t, err := newTool(fn)
		if err != nil {
			return err
		}
		tools[i] = t
	}
	s.mcp.RemoveTools(s.names...)
	s.names, s.hash = []string{}, face.CodeHash
	for _, t := range tools {
		s.mcp.AddTool(t.mcp, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return s.call(ctx, t, req), nil
		})
		s.names = append(s.names, t.fn.Name)
	}
	return nil
}

func (s *server) call(ctx context.Context, t *tool, req *mcp.CallToolRequest) *mcp.CallToolResult {
	args, kwargs, err := bind(t.fn, req.Params.Arguments)
	if err != nil {
		return failure(&protocol.CallError{Code: protocol.CallBadArguments, Message: err.Error()})
	}
	done := keepAlive(ctx, req)
	value, err := s.link.call(ctx, t.fn.Name, args, kwargs)
	done()
	if errors.Is(err, &protocol.CallError{Code: protocol.CallUnknownFunction}) {
		s.refresh(ctx)
	}
	if err != nil {
		s.log.Debug("call failed", "function", t.fn.Name, "error", err)
		return failure(err)
	}
	return t.success(value)
}

// Tools is how the functions of an interface appear as MCP tools.
func Tools(face sdk.Interface) ([]*mcp.Tool, error) {
	tools := make([]*mcp.Tool, len(face.Functions))
	for i, fn := range face.Functions {
		t, err := newTool(fn)
		if err != nil {
			return nil, fmt.Errorf("interface %s: %w", face.Module, err)
		}
		tools[i] = t.mcp
	}
	return tools, nil
}
