package callcmd

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
)

func (a app) completeCall(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	switch len(given) {
	case 0:
		return a.SandboxRefs(cmd.Context(), nil), cli.NoFiles
	case 1:
		var targets []string
		for _, s := range a.ServicesOf(cmd.Context(), given[0]) {
			for _, fn := range s.Functions {
				targets = append(targets, s.Name+"."+fn)
			}
		}
		return targets, cli.NoFiles
	}
	return nil, cli.NoFiles
}

func (a app) completeTokens(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(given) < 2 {
		return a.completeSandboxThenService(cmd, given, "")
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), cli.CompleteWithin)
	defer cancel()
	var ids []string
	_ = a.withService(ctx, given[0], given[1], func(v *engine.Service) error {
		tokens, err := v.Tokens(ctx)
		for _, t := range tokens {
			if t.ID != "main" && !slices.Contains(given[2:], t.ID) {
				ids = append(ids, t.ID+"\t"+t.Name)
			}
		}
		return err
	})
	return ids, cli.NoFiles
}

func (a app) completeSandboxThenService(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	switch len(given) {
	case 0:
		return a.SandboxRefs(cmd.Context(), nil), cli.NoFiles
	case 1:
		return a.CompleteService(cmd, given, "")
	}
	return nil, cli.NoFiles
}
