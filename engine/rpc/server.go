package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/creachadair/jrpc2/handler"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/event/eventtext"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/sdk"
)

const (
	// Outlives is how long a sandbox lives after this process was killed. A client that ends in
	// any other way has it ended at once.
	Outlives = 30 * time.Second

	endTime    = time.Minute // for all sandboxes of a client together
	concurrent = 256         // requests at once
)

// Server answers the requests of one client.
type Server struct {
	Engine  *engine.Engine
	Version string // of the program
	// Program is the path of the program, which servers of MCP start.
	Program string

	mu    sync.Mutex
	open  map[string]*engine.Sandbox // by ID
	owned map[string]bool            // is terminated with the client
	sent  map[string]window          // by stream

	sessions map[string][]string // that the client has made, by ID of the sandbox

	push *jrpc2.Server
}

// Serve answers requests until the input ends or ctx does. Then it terminates what the client
// has started and not detached.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.WriteCloser) error {
	s.open, s.owned = map[string]*engine.Sandbox{}, map[string]bool{}
	s.sent, s.sessions = map[string]window{}, map[string][]string{}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	handlers := handler.Map{}
	for name, m := range methods() {
		handlers[name] = m.of(s)
	}
	s.push = jrpc2.NewServer(handlers, &jrpc2.ServerOptions{
		AllowPush: true, Concurrency: concurrent, NewContext: func() context.Context { return ctx },
	})
	s.push.Start(channel.Line(in, out))
	stop := context.AfterFunc(ctx, s.push.Stop)
	defer stop()
	err := s.push.Wait()
	cancel()
	return errors.Join(err, s.end())
}

// Methods are the names of all methods, with the types of their parameters and results.
func Methods() map[string][2]any {
	all := map[string][2]any{}
	for name, m := range methods() {
		all[name] = [2]any{m.params, m.result}
	}
	return all
}

// method is what a client may call. The types of its parameters and its result are those of the
// function that answers it.
type method struct {
	params, result any
	of             func(*Server) jrpc2.Handler
}

func methods() map[string]method {
	return map[string]method{
		"initialize":        answered((*Server).initialize),
		"cancel":            answered((*Server).cancel),
		"experiment.load":   answered((*Server).load),
		"agent.acknowledge": answered((*Server).acknowledge),
		"agent.run":         answered((*Server).agent),
		"sandbox.start":     answered((*Server).start),
		"sandbox.open":      answered((*Server).info),
		"sandbox.list":      answered((*Server).list),
		"sandbox.detach":    answered((*Server).detach),
		"sandbox.terminate": answered((*Server).terminate),
		"sandbox.exec":      answered((*Server).exec),
		"sandbox.read":      answered((*Server).read),
		"sandbox.write":     answered((*Server).write),
		"sandbox.mkdir":     answered((*Server).mkdir),
		"sandbox.upload":    answered((*Server).upload),
		"sandbox.download":  answered((*Server).download),
		"sandbox.serve":     answered((*Server).serve),
		"sandbox.save":      answered((*Server).save),
		"sandbox.fork":      answered((*Server).fork),
		"session.new":       answered((*Server).newSession),
		"session.end":       answered((*Server).endSession),
	}
}

// answered makes a method of a function. Its errors have their kind. Unknown fields are refused:
// they would be a newer client's.
func answered[P, R any](f func(*Server, context.Context, P) (R, error)) method {
	var params P
	var result R
	return method{params, result, func(s *Server) jrpc2.Handler {
		return func(ctx context.Context, req *jrpc2.Request) (any, error) {
			var params P
			if req.HasParams() {
				d := json.NewDecoder(strings.NewReader(req.ParamString()))
				d.DisallowUnknownFields()
				if err := d.Decode(&params); err != nil {
					return nil, jrpc2.Errorf(jrpc2.InvalidParams, "%s: the parameters are not as they must be: %v", req.Method(), err)
				}
			}
			result, err := f(s, ctx, params)
			if err != nil {
				return nil, asError(err)
			}
			return result, nil
		}
	}}
}

// failed is the code of all errors of the engine; their data has the kind.
const failed jrpc2.Code = -32000

func asError(err error) error {
	data := ErrorData{Kind: string(engine.KindOf(err)), Remedies: remedy.Of(err)}
	var mistakes experiment.Errors
	var mistake *experiment.Error
	if !errors.As(err, &mistakes) && errors.As(err, &mistake) {
		mistakes = experiment.Errors{mistake}
	}
	var inline *inlineError
	placeless := errors.As(err, &inline)
	for _, m := range mistakes {
		p := Problem{File: m.File, Line: m.Line, Path: m.Path, Message: m.Message, Hint: m.Hint}
		if placeless {
			p.File, p.Line = "", 0
		}
		data.Problems = append(data.Problems, p)
	}
	return jrpc2.Errorf(failed, "%s", err.Error()).WithData(data)
}

// inlineError is an error of an experiment that came in a message, whose lines no user has seen.
type inlineError struct{ error }

func (e *inlineError) Unwrap() error { return e.error }

// ofMessage makes *err an [inlineError].
func ofMessage(err *error) {
	if *err != nil {
		*err = &inlineError{*err}
	}
}

// progress tells the client what happens during a request.
func (s *Server) progress(ctx context.Context) event.Func {
	req := jrpc2.InboundRequest(ctx)
	if req == nil {
		return nil
	}
	return func(e event.Event) {
		_ = s.push.Notify(ctx, "event", Progress{Request: req.ID(), Event: e, Kind: e.Kind(), Text: eventtext.Sentence(e)}) // a client that is gone needs none
	}
}

func (s *Server) initialize(_ context.Context, p InitializeParams) (InitializeResult, error) {
	if p.Protocol != Version {
		return InitializeResult{}, refuse(engine.KindUnsupported, "the client speaks version %d of the protocol, and this program (%s) version %d; install the same version of both", p.Protocol, s.Version, Version)
	}
	return InitializeResult{Protocol: Version, Version: s.Version}, nil
}

// cancel ends the context of a request; one that has been answered is none.
func (s *Server) cancel(_ context.Context, p CancelParams) (None, error) {
	s.push.CancelRequest(p.Request)
	return None{}, nil
}

// sandbox finds a live sandbox, and keeps the connection to it.
func (s *Server) sandbox(ctx context.Context, ref string) (*engine.Sandbox, error) {
	s.mu.Lock()
	known := s.open[ref]
	s.mu.Unlock()
	if known != nil {
		if h, err := known.Environment(ctx); err != nil || sdk.State(h.Status).Live() {
			return known, nil
		}
		s.forget(known.ID()) // another program has ended it
		_ = known.Close()
	}
	found, err := s.Engine.Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	return s.keep(found, false), nil
}

// keep notes a connection; of two to one sandbox the first is kept.
func (s *Server) keep(b *engine.Sandbox, own bool) *engine.Sandbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.open[b.ID()]; before != nil {
		_ = b.Close()
		b = before
	}
	s.open[b.ID()] = b
	if own {
		s.owned[b.ID()] = true
	}
	return b
}

// forget drops what is known of a sandbox that is no longer the client's.
func (s *Server) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.owned, id)
	delete(s.open, id)
}

// end terminates the client's sandboxes, all at once. In others it ends the client's sessions,
// and drops the connections.
func (s *Server) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	var wg sync.WaitGroup
	errs := make(chan error, len(s.open))
	for id, b := range s.open {
		wg.Go(func() {
			if s.owned[id] {
				errs <- b.Terminate(ctx)
			} else {
				for _, name := range s.sessions[id] {
					_ = b.EndSession(ctx, name) // the sandbox may have ended
				}
			}
			_ = b.Close()
		})
	}
	wg.Wait()
	close(errs)
	var all error
	for err := range errs {
		all = errors.Join(all, err)
	}
	return all
}

func refuse(kind engine.Kind, format string, args ...any) error {
	return &engine.Error{Kind: kind, Err: fmt.Errorf(format, args...)}
}
