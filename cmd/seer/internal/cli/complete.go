package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/sanitize"
	"github.com/seer-engine/seer/sdk"
)

// CompleteWithin bounds what a shell waits for after a Tab.
const CompleteWithin = 2 * time.Second

// NoFiles keeps the shell from offering files.
const NoFiles = cobra.ShellCompDirectiveNoFileComp

// liveSandboxes are the live sandboxes, for completion: an error means none.
func (a *App) liveSandboxes(ctx context.Context) []engine.Info {
	ctx, cancel := context.WithTimeout(ctx, CompleteWithin)
	defer cancel()
	e, err := a.Engine()
	if err != nil {
		return nil
	}
	infos, _ := e.Sandboxes(ctx, false)
	return slices.DeleteFunc(infos, func(i engine.Info) bool { return !i.State.Live() })
}

// SandboxRefs are the IDs and names of the live sandboxes but those that are given.
func (a *App) SandboxRefs(ctx context.Context, but []string) []string {
	var refs []string
	for _, i := range a.liveSandboxes(ctx) {
		if slices.Contains(but, i.ID) || slices.Contains(but, i.Name) {
			continue
		}
		about := "\t" + sanitize.Line(strings.Join(append([]string{string(i.State), "on " + i.Provider}, ServiceNames(i)...), ", "))
		if i.Name != "" {
			refs = append(refs, i.Name+about)
		}
		refs = append(refs, i.ID+about)
	}
	return refs
}

// CompleteSandbox offers a sandbox as the first argument.
func (a *App) CompleteSandbox(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, NoFiles
	}
	return a.SandboxRefs(cmd.Context(), nil), NoFiles
}

// CompleteSandboxes offers the sandboxes that are not named yet.
func (a *App) CompleteSandboxes(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.SandboxRefs(cmd.Context(), given), NoFiles
}

// CompleteSandboxThenFile offers a sandbox, and behind it Python files.
func (a *App) CompleteSandboxThenFile(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	switch len(given) {
	case 0:
		return a.SandboxRefs(cmd.Context(), nil), NoFiles
	case 1:
		return []string{"py"}, cobra.ShellCompDirectiveFilterFileExt
	}
	return nil, NoFiles
}

// ServicesOf are the services of a live sandbox.
func (a *App) ServicesOf(ctx context.Context, ref string) []engine.ServiceInfo {
	for _, i := range a.liveSandboxes(ctx) {
		if i.ID == ref || i.Name == ref || strings.HasPrefix(i.ID, ref) {
			return i.Services
		}
	}
	return nil
}

// CompleteService offers the services of the sandbox that is named.
func (a *App) CompleteService(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(given) == 0 {
		return nil, NoFiles
	}
	var names []string
	for _, s := range a.ServicesOf(cmd.Context(), given[0]) {
		names = append(names, s.Name)
	}
	return names, NoFiles
}

// CompleteMode offers the expose modes of plugins.
func (a *App) CompleteMode(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var modes []string
	a.EachManifest(cmd.Context(), func(m sdk.Manifest) {
		if slices.ContainsFunc(m.Implements, func(c string) bool { return strings.HasPrefix(c, "expose/") }) {
			modes = append(modes, m.Provides...)
		}
	})
	return modes, NoFiles
}

// EachManifest gives f the manifests of all plugins, as far as they are found soon.
func (a *App) EachManifest(ctx context.Context, f func(sdk.Manifest)) {
	ctx, cancel := context.WithTimeout(ctx, CompleteWithin)
	defer cancel()
	e, err := a.Engine()
	if err != nil {
		return
	}
	plugins, _ := e.Plugins(ctx)
	for _, p := range plugins {
		f(p.Manifest)
	}
}

// ServiceNames are the names of a sandbox's services.
func ServiceNames(i engine.Info) []string {
	names := make([]string, len(i.Services))
	for n, s := range i.Services {
		names[n] = s.Name
	}
	return names
}
