package plugincmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/plugin/store"
)

func newPluginUninstall(a app) *cobra.Command {
	return &cobra.Command{
		Use: "uninstall ID", Aliases: []string{"rm"}, Short: "Remove an installed plugin and its grants",
		Long: `Remove every installed version of a plugin and revoke its grants. A seer.lock that
names the plugin does not change.`,
		Example:           "  seer plugin uninstall provider-tiny",
		Args:              cli.Args(1, 1, "the ID of a plugin"),
		ValidArgsFunction: a.completePlugin,
		RunE: func(cmd *cobra.Command, given []string) error {
			return a.uninstall(cmd.Context(), given[0])
		},
	}
}

func (a app) uninstall(ctx context.Context, id string) error {
	s, err := a.pluginStore()
	if err != nil {
		return err
	}
	all, _ := s.List() // what is broken there is no version of it
	var gone []string
	for _, in := range all {
		if in.ID == id {
			if err := s.Remove(ctx, in.Digest); err != nil {
				return pluginError(err)
			}
			gone = append(gone, in.Version)
		}
	}
	if len(gone) == 0 {
		return &engine.Error{Kind: engine.KindNotFound, Err: fmt.Errorf("no plugin %q is installed; see seer plugin ls", id)}
	}
	if _, err := s.Revoke(ctx, id); err != nil {
		return pluginError(err)
	}
	return a.Print(map[string]any{"id": id, "removed": gone}, func(io.Writer) error {
		a.UI.Tell("Removed %s %s", id, strings.Join(gone, ", "))
		return nil
	})
}

func newPluginRepin(a app) *cobra.Command {
	var signer string
	c := &cobra.Command{
		Use: "repin ID", Short: "Accept another signer of a plugin",
		Long: `Forget the known signer of a plugin. The next installation accepts its signer as the
new one, or --signer sets it at once. Use this only if the author has told you about the
new key in another way.`,
		Example:           "  seer plugin repin provider-tiny --signer SHA256:…",
		Args:              cli.Args(1, 1, "the ID of a plugin"),
		ValidArgsFunction: a.completePlugin,
		RunE: a.withStore(func(cmd *cobra.Command, s *store.Store, given []string) error {
			old, err := s.Signer(given[0])
			if err == nil {
				err = s.Repin(cmd.Context(), given[0], signer)
			}
			if err != nil {
				return pluginError(err)
			}
			return a.Print(map[string]string{"id": given[0], "forgotten": old, "signer": signer}, func(io.Writer) error {
				a.UI.Tell("%s was signed by %s; now by %s", given[0], cmp.Or(old, "-"), signerOrNext(signer))
				return nil
			})
		}),
	}
	c.Flags().StringVar(&signer, "signer", "", "`fingerprint` of the new signer, SHA256:… (default: the signer of the next installation)")
	return c
}

func signerOrNext(signer string) string {
	if signer == "" {
		return "the signer of the next installation"
	}
	return signer
}

func newPluginPolicy(a app) *cobra.Command {
	return &cobra.Command{
		Use: "policy", Short: "Show the limits for all plugins",
		Long: `Show the policy, the limits that no grant can exceed. Set it under plugins: in the
configuration file; see docs/plugins/trust.md.`,
		Args: cli.Args(0, 0, "no argument"),
		RunE: a.withStore(func(_ *cobra.Command, s *store.Store, _ []string) error {
			p, err := s.Policy()
			if err != nil {
				return &engine.Error{Kind: engine.KindConfig, Err: err}
			}
			for _, list := range []*[]string{&p.Signers, &p.Destinations, &p.Registries} {
				*list = append([]string{}, *list...) // under --json none is a list, too
			}
			return a.Print(p, func(w io.Writer) error { return policyText(w, p) })
		}),
	}
}

func policyText(w io.Writer, p store.Policy) error {
	anyOf := func(list []string) string {
		if len(list) == 0 {
			return "any"
		}
		return strings.Join(slices.Sorted(slices.Values(list)), ", ")
	}
	from := "the default: there is no configuration file"
	if p.File != "" {
		from = filepath.Clean(p.File)
	}
	for _, l := range [][2]string{
		{"from", from}, {"signatures", string(p.Signatures)}, {"signers", anyOf(p.Signers)}, {"destinations", anyOf(p.Destinations)},
		{"max_memory_mb", fmt.Sprint(p.MaxMemoryMB)}, {"registries", anyOf(p.Registries)},
	} {
		if _, err := fmt.Fprintf(w, "%-14s %s\n", l[0], l[1]); err != nil {
			return err
		}
	}
	return nil
}
