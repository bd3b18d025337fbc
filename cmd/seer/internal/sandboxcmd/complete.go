package sandboxcmd

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
)

// completeCp offers sandboxes beside the files that the shell knows.
func (a app) completeCp(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 1 {
		return nil, cli.NoFiles
	}
	var refs []string
	for _, ref := range a.SandboxRefs(cmd.Context(), nil) {
		ref, _, _ = strings.Cut(ref, "\t")
		refs = append(refs, ref+":")
	}
	return refs, cobra.ShellCompDirectiveDefault | cobra.ShellCompDirectiveNoSpace
}

// environmentOf is how the pages of a live sandbox are reached, empty where it cannot be told
// soon. The experiment's ports are those of its endpoints.
func (a app) environmentOf(ctx context.Context, ref string) (engine.Info, *engine.EnvironmentHandle) {
	ctx, cancel := context.WithTimeout(ctx, cli.CompleteWithin)
	defer cancel()
	e, err := a.Engine()
	if err != nil {
		return engine.Info{}, &engine.EnvironmentHandle{}
	}
	info, err := e.Show(ctx, ref)
	if err != nil || info.Environment == nil {
		return info, &engine.EnvironmentHandle{}
	}
	return info, info.Environment
}

// completeLogs offers what has a log.
func (a app) completeLogs(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	names, _ := a.CompleteService(cmd, given, "")
	if len(given) == 0 {
		return names, cli.NoFiles
	}
	_, h := a.environmentOf(cmd.Context(), given[0])
	if h.JupyterPort > 0 {
		names = append(names, "jupyter")
	}
	if h.CodeServerPort > 0 {
		names = append(names, "code-server")
	}
	return names, cli.NoFiles
}

// pagesOf are the pages of a sandbox, as open and forward call them.
func pagesOf(h *engine.EnvironmentHandle) (pages []string) {
	if h.JupyterPort > 0 {
		pages = append(pages, "jupyter")
	}
	if h.CodeServerPort > 0 {
		pages = append(pages, "code\tVS Code")
	}
	return pages
}

func (a app) completeSandboxThenPage(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	switch len(given) {
	case 0:
		return a.SandboxRefs(cmd.Context(), nil), cli.NoFiles
	case 1:
		_, h := a.environmentOf(cmd.Context(), given[0])
		return pagesOf(h), cli.NoFiles
	}
	return nil, cli.NoFiles
}

func (a app) completeSandboxThenPorts(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(given) == 0 {
		return a.SandboxRefs(cmd.Context(), nil), cli.NoFiles
	}
	info, h := a.environmentOf(cmd.Context(), given[0])
	ports := pagesOf(h)
	for _, e := range info.Endpoints {
		if e.Port != h.JupyterPort && e.Port != h.CodeServerPort {
			ports = append(ports, strconv.Itoa(e.Port))
		}
	}
	return slices.DeleteFunc(ports, func(p string) bool {
		name, _, _ := strings.Cut(p, "\t")
		return slices.Contains(given[1:], name)
	}), cli.NoFiles
}
