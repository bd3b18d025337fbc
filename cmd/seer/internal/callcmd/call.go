package callcmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

type callFlags struct {
	args       string
	connection string
	timeout    time.Duration
	id         string
	detach     bool
	handle     bool
	show       showFlags
}

func newCall(a app) *cobra.Command {
	var f callFlags
	c := &cobra.Command{
		Use:   "call ID SERVICE.FUNCTION [key=value…]",
		Short: "Call a served function",
		Long: `Call a function and print its result as JSON. Seer passes a value that is JSON as
JSON, and anything else as a string. --args takes all arguments as one JSON object, or
the positional ones as a list. key=@FILE passes the content of a file: an array (.npy),
an image (.png, .jpg), JSON (.json), text (.txt), otherwise its bytes. key=@handle:ID
passes a value that stayed in the sandbox.

With --connection, name no sandbox: the file, which serve wrote, has the address and
the token of the service, and works wherever that address can be reached.

The output of the function goes to stderr as it comes. A generator's items are printed
one by one. NaN and infinities become the texts "NaN", "Infinity" and "-Infinity". Of
large arrays, images and bytes, Seer prints a description; --out writes them to a file.

Seer resumes a call that loses its connection, and never runs it twice. Ctrl-C and
--timeout also cancel the call in the sandbox. With --detach the call continues alone,
and Seer prints its name for seer calls.`,
		Example: `  seer call lab model_tools.next_words word=the top=3
  seer call lab model_tools.next_words --args '{"word": "the"}'
  seer call lab model_tools.activations text=@prompt.txt --out layer9.npy
  seer call --connection workspace/model_tools/connection.json next_words word=the
  id=$(seer call lab model_tools.train steps=10000 --detach); seer calls wait lab $id`,
		Args:              f.check,
		ValidArgsFunction: a.completeCall,
		RunE:              func(cmd *cobra.Command, given []string) error { return a.call(cmd.Context(), f, given) },
	}
	c.Flags().StringVar(&f.args, "args", "", "all arguments as one `JSON` object or list")
	addConnection(c, &f.connection)
	c.Flags().DurationVar(&f.timeout, "timeout", 0, "cancel the call after this long, as in 90s or 5m (default: the function's own\ntimeout, if it has one)")
	f.show.add(c)
	c.Flags().BoolVar(&f.detach, "detach", false, "do not wait: print the call's name, for seer calls wait")
	c.Flags().StringVar(&f.id, "id", "", "the call's `NAME`; a second call with the same name joins the first instead of\nrunning again (8 to 100 of a-z A-Z 0-9 _ . -)")
	c.Flags().BoolVar(&f.handle, "handle", false, "leave the result in the sandbox and print its handle")
	c.MarkFlagsMutuallyExclusive("detach", "out")
	c.MarkFlagsMutuallyExclusive("handle", "out")
	return c
}

func addConnection(c *cobra.Command, file *string) {
	c.Flags().StringVar(file, "connection", "", "the connection `FILE` of the service, in place of ID")
	_ = c.RegisterFlagCompletionFunc("connection", cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveFilterFileExt))
}

var callNames = lazyregexp.New(`^[A-Za-z0-9_.-]{8,100}$`)

func (f *callFlags) check(cmd *cobra.Command, given []string) error {
	switch {
	case f.connection != "" && len(given) < 1:
		return cli.Usagef("seer call --connection needs a FUNCTION: seer call --connection FILE FUNCTION [key=value…]")
	case f.connection == "" && len(given) < 2:
		return cli.Usagef("seer call needs a sandbox and a function: %s", cmd.UseLine())
	case f.connection == "" && !strings.Contains(given[1], "."):
		return cli.Usagef("%q names no service; write SERVICE.FUNCTION, as in model_tools.%s", given[1], given[1])
	case f.timeout < 0:
		return cli.CheckTimeout(f.timeout)
	case f.id != "" && !callNames().MatchString(f.id):
		return cli.Usagef("%q cannot be the name of a call: use 8 to 100 letters, digits, _, . and -", f.id)
	}
	return nil
}

func (a app) call(ctx context.Context, f callFlags, given []string) error {
	pairs := given[1:]
	if f.connection == "" {
		pairs = given[2:]
	}
	args, kwargs, err := callArguments(f.args, pairs)
	if err != nil {
		return err
	}
	ctx, cancel := withTimeout(ctx, f.timeout, f.detach)
	defer cancel()
	to, fn, err := a.callee(ctx, f.connection, given)
	if err != nil {
		return f.ended(ctx, err)
	}
	defer to.close()
	r := client.CallRequest{Service: to.service, Function: fn, Args: args, Kwargs: kwargs, ID: f.id, Keep: f.id != ""}
	if f.handle {
		r.HandleAbove = new(int64)
	}
	if f.detach {
		r.Timeout, r.Output = f.timeout.Seconds(), true
		return a.detach(ctx, to, r)
	}
	p, err := newPrinter(a, f.show, func() bool { return to.isGenerator(ctx, fn) })
	if err != nil {
		return err
	}
	defer p.close()
	a.Stop.SetCleanup("cancelling the call in the sandbox")
	_, err = to.client.Calls().Do(ctx, r, p.handler())
	return f.ended(ctx, p.end(to.explain(err)))
}

// ended is the error of a call that --timeout may have ended, also before it began.
func (f *callFlags) ended(ctx context.Context, err error) error {
	if isTimeout(ctx, err) {
		return &engine.Error{Kind: engine.KindTimeout, Err: fmt.Errorf("the call took longer than %s and was cancelled", f.timeout)}
	}
	return err
}

// isTimeout reports whether err is the end of ctx's time. What has come before it counts.
func isTimeout(ctx context.Context, err error) bool {
	return errors.Is(err, context.DeadlineExceeded) && errors.Is(ctx.Err(), context.DeadlineExceeded)
}

func withTimeout(ctx context.Context, d time.Duration, elsewhere bool) (context.Context, context.CancelFunc) {
	if d > 0 && !elsewhere {
		return context.WithTimeout(ctx, d)
	}
	return ctx, func() {}
}

// detached is the result of call --detach.
type detached struct {
	ID       string             `json:"id"`
	Service  string             `json:"service"`
	Function string             `json:"function"`
	State    protocol.CallState `json:"state"`
}

func (a app) detach(ctx context.Context, to *callee, r client.CallRequest) error {
	call, err := to.client.Calls().Submit(ctx, r)
	if err != nil {
		return to.explain(err)
	}
	if a.JSON {
		return a.PrintJSON(detached{ID: call.ID, Service: to.service, Function: r.Function, State: call.State})
	}
	if err := a.Println(call.ID); err != nil {
		return err
	}
	a.UI.Tell("The call continues alone; to get its answer: seer calls wait %s %s", to.name, call.ID)
	return nil
}

// callee is a service as a command speaks to it: by the engine, or with nothing but its
// connection file, which is all that an agent has.
type callee struct {
	client  *client.Client
	service string
	sandbox string
	name    string          // as it is given to a command
	users   func() []string // of the GPUs of the sandbox; nil = nobody can tell
	close   func()
}

// callee finds the service of a call and the function's name.
func (a app) callee(ctx context.Context, connection string, given []string) (*callee, string, error) {
	if connection != "" {
		to, err := calleeOf(connection)
		if err != nil {
			return nil, "", err
		}
		return to, strings.TrimPrefix(given[0], to.service+"."), nil
	}
	s, err := a.Open(ctx, given[0])
	if err != nil {
		return nil, "", err
	}
	name, fn, _ := strings.Cut(given[1], ".")
	service, err := s.Service(ctx, name)
	if err != nil {
		s.Close()
		return nil, "", err
	}
	client, err := service.Connection().Client()
	if err != nil {
		s.Close()
		return nil, "", err
	}
	users := func() []string { return a.gpuUsers(ctx, s.ID()) }
	return &callee{client: client, service: name, sandbox: s.ID(), name: given[0], users: users, close: func() { client.Close(); s.Close() }}, fn, nil
}

// calleeOf needs no engine.
func calleeOf(file string) (*callee, error) {
	conn, err := client.ReadConnection(file)
	if err != nil {
		return nil, cli.ConnectionError(err)
	}
	client, err := conn.Client()
	if err != nil {
		return nil, cli.ConnectionError(err)
	}
	return &callee{client: client, service: conn.Service, sandbox: conn.Sandbox, name: "--connection " + file, close: client.Close}, nil
}

// gpuUsers says who uses the GPUs of a sandbox; nothing where that cannot be told.
func (a app) gpuUsers(ctx context.Context, id string) []string {
	e, err := a.Engine()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), usersTime)
	defer cancel()
	info, err := e.Show(ctx, id)
	if err != nil {
		return nil
	}
	return info.GPUUsers
}

const usersTime = 20 * time.Second // for what is said beside an error

func (c *callee) explain(err error) error {
	var call *protocol.CallError
	var down *protocol.Error
	if !errors.As(err, &call) && errors.As(err, &down) && down.Code == protocol.Unavailable {
		err = fmt.Errorf("%w; seer ls shows whether the sandbox %s still runs", err, c.sandbox)
	}
	if call != nil && c.users != nil && strings.Contains(call.Message, "CUDA out of memory") {
		full := *call
		full.Message = strings.Join(append([]string{call.Message}, c.users()...), "\n")
		err = &full
	}
	return cli.ProviderError(err)
}

// isGenerator reports whether a function is a generator. Only an empty one must be asked
// about.
func (c *callee) isGenerator(ctx context.Context, fn string) bool {
	s, err := c.client.Services().Get(ctx, c.service)
	if err != nil || s.Interface == nil {
		return false
	}
	return isGenerator(s.Interface.Functions, fn)
}

func isGenerator(list []sdk.Function, name string) bool {
	for _, f := range list {
		if f.Name == name {
			return f.Stream
		}
	}
	return false
}
