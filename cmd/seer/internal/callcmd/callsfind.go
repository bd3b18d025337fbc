package callcmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/protocol"
)

// callees are the services that may have the calls, and the arguments without the
// sandbox.
func (a app) callees(ctx context.Context, f callsFlags, given []string) ([]*callee, []string, error) {
	if f.connection != "" {
		to, err := calleeOf(f.connection)
		return []*callee{to}, given, err
	}
	s, err := a.Open(ctx, given[0])
	if err != nil {
		return nil, nil, err
	}
	services, err := s.Runtime().Services().List(ctx)
	if err != nil {
		s.Close()
		return nil, nil, cli.ProviderError(err)
	}
	var list []*callee
	users := func() []string { return a.gpuUsers(ctx, s.ID()) }
	for _, v := range services {
		if f.service == "" || v.Name == f.service {
			list = append(list, &callee{client: s.Runtime(), service: v.Name, sandbox: s.ID(), name: given[0], users: users, close: func() { s.Close() }})
		}
	}
	if len(list) == 0 {
		s.Close()
		if f.service != "" {
			return nil, nil, &engine.Error{Kind: engine.KindNotFound, Err: fmt.Errorf("the sandbox %s serves nothing named %q", given[0], f.service)}
		}
	}
	return list, given[1:], nil
}

func closeAll(list []*callee) {
	for _, to := range list {
		to.close()
	}
}

// findCall is the service that knows a call.
func findCall(ctx context.Context, list []*callee, id string) (*callee, error) {
	for _, to := range list {
		_, err := to.client.Calls().Get(ctx, to.service, id)
		switch {
		case err == nil:
			return to, nil
		case !errors.Is(err, &protocol.CallError{Code: protocol.CallUnknown}):
			return nil, to.explain(err)
		}
	}
	return nil, &engine.Error{Kind: engine.KindNotFound, Err: fmt.Errorf("no service knows a call %s: it has never been made, or its answer has been fetched or was not kept any longer", id)}
}

// completeCalls offers the calls of the sandbox that is named, behind it.
func (a app) completeCalls(f *callsFlags, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
		place := 1
		if f.connection != "" {
			place = 0
		}
		switch {
		case len(given) < place:
			return a.SandboxRefs(cmd.Context(), nil), cli.NoFiles
		case most >= 0 && len(given) >= most+place:
			return nil, cli.NoFiles
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), cli.CompleteWithin)
		defer cancel()
		list, _, err := a.callees(ctx, *f, given)
		if err != nil {
			return nil, cli.NoFiles
		}
		defer closeAll(list)
		var names []string
		for _, to := range list {
			calls, _ := to.client.Calls().List(ctx, to.service)
			for _, c := range calls {
				names = append(names, fmt.Sprintf("%s\t%s.%s, %s", c.ID, to.service, c.Function, c.State))
			}
		}
		return names, cli.NoFiles
	}
}
