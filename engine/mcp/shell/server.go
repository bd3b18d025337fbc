// Package shell serves a whole sandbox as MCP tools: commands, a Python that keeps its
// variables, files, background processes. It needs the key of a session
// ([client.Session]) and can do what that opens. docs/sessions.md tells what a session
// is, docs/shell.md what the tools are.
package shell

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/mcp/internal/serve"
	"github.com/seer-engine/seer/engine/mcp/internal/task"
	"github.com/seer-engine/seer/engine/protocol"
)

// Options change how a sandbox is served. The zero value is fine.
type Options struct {
	Version string        // of the program, told to the client
	Logger  hclog.Logger  // nil = discard; must not write to the transport's stream
	Wait    time.Duration // after which a command is handed over; 0 = as the client's name says
	Workdir string        // where commands start and relative paths begin; "" = the sandbox's working folder
	Files   string        // a folder of this computer for upload and download; "" = these tools are not offered
	Python  string        // the interpreter of run_python; "" = python3 of the sandbox's PATH
}

// Source yields the session to serve. It is asked before every request, so that a
// sandbox that came back elsewhere is found there.
type Source func() (client.Session, error)

// FromFile reads the session file anew each time.
func FromFile(path string) Source {
	return func() (client.Session, error) { return client.ReadSession(path) }
}

// Fixed is always the same session.
func Fixed(s client.Session) Source {
	return func() (client.Session, error) { return s, nil }
}

// Serve serves one client until it goes away or ctx ends. The sandbox need not answer
// yet: a tool that cannot reach it fails and says so. When Serve returns, commands that
// were handed over go on in the sandbox, and process ids of before are good for another
// Serve of the same session.
func Serve(ctx context.Context, source Source, transport mcp.Transport, o Options) error {
	server, end, err := open(ctx, source, o)
	if err != nil {
		return err
	}
	defer end()
	return serve.Serve(ctx, server, transport)
}

// Handler serves any number of clients over streamable HTTP, until ctx ends. They share
// the interpreter and see each other's processes. The function that comes with the
// handler ends what it has begun here, once nobody is served any more.
func Handler(ctx context.Context, source Source, guard serve.Guard, o Options) (http.Handler, func(), error) {
	return serve.Mount(guard, func() (*mcp.Server, func(), error) {
		return open(ctx, source, o)
	})
}

type server struct {
	source Source
	opts   Options
	log    hclog.Logger
	mcp    *mcp.Server
	files  *os.Root // of Options.Files; nil = none

	ctx  context.Context // ends with the server
	stop context.CancelFunc
	wg   sync.WaitGroup

	jobs  task.Set[*job]
	known known
	lastX lastInterpreter

	mu      sync.Mutex
	session client.Session
	client  *client.Client
}

// open returns a server and what ends it.
func open(ctx context.Context, source Source, o Options) (*mcp.Server, func(), error) {
	s := &server{source: source, opts: o, log: o.Logger, jobs: task.Set[*job]{Keep: keptJobs}}
	if s.log == nil {
		s.log = hclog.NewNullLogger()
	}
	if _, err := s.get(); err != nil {
		return nil, nil, err
	}
	if o.Files != "" {
		root, err := os.OpenRoot(o.Files)
		if err != nil {
			s.client.Close()
			return nil, nil, fmt.Errorf("the folder for uploads and downloads: %w", err)
		}
		s.files = root
	}
	s.ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.mcp = serve.NewServer("sandbox", o.Version, instructions)
	s.addTools()
	s.addResources()
	return s.mcp, s.close, nil
}

func (s *server) close() {
	s.stop()
	s.wg.Wait()
	if s.files != nil {
		s.files.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client.Close()
}

// get is the client of the present session.
func (s *server) get() (*client.Client, error) {
	session, err := s.source()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil && session == s.session {
		return s.client, nil
	}
	client, err := client.New(session.Endpoint, session.Token)
	if err != nil {
		return nil, err
	}
	if s.client != nil {
		s.client.Close()
	}
	s.session, s.client = session, client
	return client, nil
}

// at is a path of a request as the sandbox is asked for it.
func (s *server) at(p string) (string, error) {
	switch {
	case p == "":
		return "", errors.New("the path is empty")
	case strings.ContainsRune(p, 0):
		return "", errors.New("the path contains a zero byte, which no file name can")
	case s.opts.Workdir == "" || path.IsAbs(p) || strings.HasPrefix(p, "~/"):
		return p, nil
	}
	return path.Join(s.opts.Workdir, p), nil
}

// lost explains what an unknown process means in the middle of what it does.
func lost(err error) error {
	if protocol.CodeOf(err) == protocol.NotFound {
		return errors.New("the runtime of the sandbox was started again meanwhile, and all that ran was ended with it")
	}
	return err
}

// explain says what a fault of the way to the sandbox means for the agent.
func explain(err error) error {
	if client.Ended(err) {
		return fmt.Errorf("the sandbox has ended: %w", err)
	}
	switch protocol.CodeOf(err) {
	case protocol.Unauthorized, protocol.Forbidden:
		return fmt.Errorf("the session's key was refused; the session has ended or was renewed: %w", err)
	case protocol.Unavailable:
		return fmt.Errorf("the sandbox cannot be reached: it has ended or is starting again; try again later: %w", err)
	}
	return err
}
