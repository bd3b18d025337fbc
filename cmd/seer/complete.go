package main

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

// completeWithin bounds what a shell waits for after a Tab.
const completeWithin = 2 * time.Second

const noFiles = cobra.ShellCompDirectiveNoFileComp

// liveInfos are the live sandboxes, for completion: an error means none.
func (a *app) liveInfos(ctx context.Context) []engine.Info {
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	e, err := a.engine()
	if err != nil {
		return nil
	}
	infos, _ := e.Sandboxes(ctx, false)
	return slices.DeleteFunc(infos, func(i engine.Info) bool { return !i.State.Live() })
}

func (a *app) sandboxRefs(ctx context.Context, but []string) []string {
	var refs []string
	for _, i := range a.liveInfos(ctx) {
		if slices.Contains(but, i.ID) || slices.Contains(but, i.Name) {
			continue
		}
		about := "\t" + sanitize.Line(strings.Join(append([]string{string(i.State), "on " + i.Provider}, serviceNames(i)...), ", "))
		if i.Name != "" {
			refs = append(refs, i.Name+about)
		}
		refs = append(refs, i.ID+about)
	}
	return refs
}

func (a *app) completeSandbox(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, noFiles
	}
	return a.sandboxRefs(cmd.Context(), nil), noFiles
}

func (a *app) completeSandboxes(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.sandboxRefs(cmd.Context(), given), noFiles
}

func (a *app) completeSandboxThenFile(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	switch len(given) {
	case 0:
		return a.sandboxRefs(cmd.Context(), nil), noFiles
	case 1:
		return []string{"py"}, cobra.ShellCompDirectiveFilterFileExt
	}
	return nil, noFiles
}

func (a *app) servicesOf(ctx context.Context, ref string) []engine.ServiceInfo {
	for _, i := range a.liveInfos(ctx) {
		if i.ID == ref || i.Name == ref || strings.HasPrefix(i.ID, ref) {
			return i.Services
		}
	}
	return nil
}

func (a *app) completeService(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(given) == 0 {
		return nil, noFiles
	}
	var names []string
	for _, s := range a.servicesOf(cmd.Context(), given[0]) {
		names = append(names, s.Name)
	}
	return names, noFiles
}

func (a *app) completeMode(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var modes []string
	a.eachManifest(cmd.Context(), func(m sdk.Manifest) {
		if slices.ContainsFunc(m.Implements, func(c string) bool { return strings.HasPrefix(c, "expose/") }) {
			modes = append(modes, m.Provides...)
		}
	})
	return modes, noFiles
}

func (a *app) eachManifest(ctx context.Context, f func(sdk.Manifest)) {
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	e, err := a.engine()
	if err != nil {
		return
	}
	plugins, _ := e.Plugins(ctx)
	for _, p := range plugins {
		f(p.Manifest)
	}
}

func serviceNames(i engine.Info) []string {
	names := make([]string, len(i.Services))
	for n, s := range i.Services {
		names[n] = s.Name
	}
	return names
}
