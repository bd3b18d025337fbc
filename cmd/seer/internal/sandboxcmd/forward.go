package sandboxcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/notebook"
)

func newForward(a app) *cobra.Command {
	return &cobra.Command{
		Use:   "forward ID PORT[:LOCAL]…",
		Short: "Forward ports of a sandbox to this computer",
		Long: `Listen at 127.0.0.1 on this computer and forward every connection to a port of the
sandbox, until Ctrl-C. The connections go through the runtime, so this works even if
the provider exposes no other port. LOCAL is the port on this computer (default: the
same as PORT); 0 chooses a free one. Seer prints the URLs when they work.

PORT can be jupyter or code (VS Code). Seer then prints a URL with the token or
password. Without LOCAL, it chooses a free port if its own is taken.`,
		Example: `  seer forward lab jupyter
  seer forward lab 8888:9999 6006:0`,
		Args: func(cmd *cobra.Command, given []string) error {
			if len(given) < 2 {
				return cli.Usagef("seer forward needs a sandbox and a port: %s", cmd.UseLine())
			}
			_, err := parseForwards(given[1:])
			return err
		},
		ValidArgsFunction: a.completeSandboxThenPorts,
		RunE: func(cmd *cobra.Command, given []string) error {
			pairs, err := parseForwards(given[1:])
			if err != nil {
				return err
			}
			s, err := a.Open(cmd.Context(), given[0])
			if err != nil {
				return err
			}
			defer s.Close()
			if err := resolvePages(cmd.Context(), s, pairs); err != nil {
				return err
			}
			return a.forward(cmd.Context(), s, pairs)
		},
	}
}

// forwarding is a port of the sandbox and where it is here.
type forwarding struct {
	Port     int    `json:"port"`
	Local    int    `json:"local"`
	URL      string `json:"url"`
	Page     string `json:"page,omitempty"` // the same for browsers of this computer
	Password string `json:"password,omitempty"`

	name string // of a page, in the place of the port
	path string // of the page
	any  bool   // another local port will do
}

// resolvePages finds the ports of pages that were named.
func resolvePages(ctx context.Context, s *engine.Sandbox, pairs []forwarding) error {
	for i := range pairs {
		f := &pairs[i]
		if f.name == "" {
			continue
		}
		page, err := s.Page(ctx, f.name)
		if err != nil {
			return err
		}
		f.Port, f.path, f.Password = page.Port, page.Path, page.Password
		if f.any {
			f.Local = page.Port
		}
	}
	return nil
}

func parseForwards(given []string) ([]forwarding, error) {
	var out []forwarding
	for _, text := range given {
		port, local, both := strings.Cut(text, ":")
		f := forwarding{}
		var err, lerr error
		if port == "jupyter" || port == "code" {
			f.name, f.any, f.Port = port, !both, 1
		} else {
			f.Port, err = strconv.Atoi(port)
		}
		f.Local = f.Port
		if both {
			f.Local, lerr = strconv.Atoi(local)
		}
		if err != nil || lerr != nil || f.Port < 1 || f.Port > 65535 || f.Local < 0 || f.Local > 65535 {
			return nil, cli.Usagef("%q is not a port, or PORT:LOCAL; write for example 8888, 8888:9999 or jupyter", text)
		}
		out = append(out, f)
	}
	return out, nil
}

func (a app) forward(ctx context.Context, s *engine.Sandbox, pairs []forwarding) error {
	listeners := make([]net.Listener, 0, len(pairs))
	defer func() {
		for _, l := range listeners {
			l.Close()
		}
	}()
	for i := range pairs {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(pairs[i].Local)))
		if err != nil && pairs[i].any {
			l, err = net.Listen("tcp", "127.0.0.1:0")
		}
		if err != nil {
			return portConflict(pairs[i], err)
		}
		listeners = append(listeners, l)
		pairs[i].Local = l.Addr().(*net.TCPAddr).Port
		pairs[i].URL = fmt.Sprintf("http://127.0.0.1:%d%s", pairs[i].Local, pairs[i].path)
		if pairs[i].name != "" {
			pairs[i].Page = notebook.OwnOrigin(pairs[i].URL)
		}
	}
	err := a.Print(pairs, func(w io.Writer) error {
		for _, p := range pairs {
			fmt.Fprintf(w, "%s → port %d of %s\n", cmp.Or(p.Page, p.URL), p.Port, s.ID())
			if p.Password != "" {
				fmt.Fprintf(w, "password: %s\n", p.Password)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	for i, l := range listeners {
		wg.Go(func() { a.accept(ctx, l, s, pairs[i].Port) })
	}
	err = waitForEnd(ctx, s)
	for _, l := range listeners {
		l.Close()
	}
	wg.Wait()
	return err
}

// portConflict says that a local port cannot be had, and what to write instead.
func portConflict(f forwarding, err error) error {
	what := f.name
	if what == "" {
		what = strconv.Itoa(f.Port)
	}
	return &engine.Error{Kind: engine.KindConflict, Err: fmt.Errorf("port %d of this computer cannot be used: %w; give another one: %s:LOCAL", f.Local, err, what)}
}

// lookEvery is how often a forward looks whether its sandbox is still there.
const lookEvery = 5 * time.Second

// waitForEnd waits until ctx ends, which is how a forward ends, or the sandbox does.
func waitForEnd(ctx context.Context, s *engine.Sandbox) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		info, err := s.Info(ctx)
		if err == nil && !info.State.Live() {
			return &engine.Error{Kind: engine.KindProvider, Err: fmt.Errorf("the sandbox %s has ended: %s", s.ID(), info.Message)}
		}
	}
}

// accept leads connections to the sandbox until the listener is closed.
func (a app) accept(ctx context.Context, l net.Listener, s *engine.Sandbox, port int) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		near, err := l.Accept()
		if err != nil {
			return
		}
		wg.Go(func() {
			defer near.Close()
			far, err := s.DialPort(ctx, port)
			if err != nil {
				a.UI.Note("warning", fmt.Sprintf("a connection to port %d: %v", port, err))
				return
			}
			defer far.Close()
			pipe(ctx, near, far)
		})
	}
}

// pipe carries bytes both ways until both have ended, or ctx has.
func pipe(ctx context.Context, near, far net.Conn) {
	stop := context.AfterFunc(ctx, func() {
		near.Close()
		far.Close()
	})
	defer stop()
	var wg sync.WaitGroup
	pass := func(to, from net.Conn) {
		_, err := io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); err == nil && ok {
			_ = half.CloseWrite()
			return
		}
		if err != nil && !errors.Is(err, net.ErrClosed) {
			to.Close()
			from.Close()
		}
	}
	wg.Go(func() { pass(far, near) })
	wg.Go(func() { pass(near, far) })
	wg.Wait()
}
