package registry

import (
	"context"
	"slices"
	"time"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk"
)

// lateTime covers what is known of clouds: a machine that appears 30 s after it was asked
// for, a creation that takes 25 s, and a list that is some seconds behind.
const lateTime = 90 * time.Second

// routedLate is for machines on hosts that answer for themselves: what may come is a creation
// that goes on there after its caller was killed.
const routedLate = 15 * time.Second

// Late is how long after it was asked for a machine of a provider may appear in its list;
// 0 = the provider always shows what there is.
func (r *Registry) Late(provider string) time.Duration {
	if r.Native(provider) {
		return 0
	}
	if _, p, ok := r.pluginOf(context.Background(), sdk.KindProvider, provider); ok && p.Routes {
		return routedLate
	}
	return lateTime
}

// CheckProviders finds that there are providers of these names. One that is not there is
// [errdefs.KindPlugin].
func (r *Registry) CheckProviders(ctx context.Context, names ...string) error {
	for _, name := range names {
		if _, err := r.Provider(ctx, name); err != nil {
			return errdefs.Wrap(errdefs.KindPlugin, err)
		}
	}
	return nil
}

// The settings of a plugin that list the hosts, or the contexts of clusters, of the user's
// machines.
const (
	hostsSetting    = "hosts"
	contextsSetting = "contexts"
)

// hostless reports whether a plugin runs machines on hosts or clusters of the user's, who has
// named none for all experiments. The current context of a kubeconfig names a cluster.
func (r *Registry) hostless(ctx context.Context, p host.Plugin) bool {
	if len(p.Manifest.Permissions.SSH) > 0 {
		return r.unset(ctx, p, hostsSetting)
	}
	if len(p.Manifest.Permissions.Kube) == 0 {
		return false
	}
	if r.o.Kube == nil {
		return true
	}
	if r.sets(p, contextsSetting) && !r.unset(ctx, p, contextsSetting) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, contextTime)
	defer cancel()
	current, err := r.o.Kube.Context(ctx, "")
	return err != nil || current.Name == ""
}

// contextTime is for the look into a kubeconfig, which asks no cluster.
const contextTime = 5 * time.Second

func (r *Registry) sets(p host.Plugin, setting string) bool {
	return slices.ContainsFunc(p.Manifest.Settings, func(s sdk.Setting) bool { return s.Name == setting })
}

// unset reports whether a plugin has a setting for which the user has no value.
func (r *Registry) unset(ctx context.Context, p host.Plugin, setting string) bool {
	if !r.sets(p, setting) {
		return false
	}
	h, err := r.host()
	if err != nil {
		return false
	}
	values, err := h.Settings(ctx, p)
	return err == nil && values[setting] == ""
}

// Asked names the providers that are asked for offers: the given ones, or else all that are
// there, sorted, with this computer unless a question is about regions. Those of hosts that
// only experiments name, and of clusters without a kubeconfig, are left out.
func (r *Registry) Asked(ctx context.Context, given []string, queries []sdk.OfferQuery) []string {
	if len(given) > 0 {
		return slices.Compact(slices.Clone(given))
	}
	plugins, broken := r.Plugins(ctx)
	for _, err := range broken {
		r.o.Logger.Warn("a plugin cannot be used", "error", err)
	}
	plugins = slices.DeleteFunc(plugins, func(p host.Plugin) bool { return r.hostless(ctx, p) })
	providers := r.Providers(plugins)
	if !slices.ContainsFunc(queries, func(q sdk.OfferQuery) bool { return len(q.Regions) > 0 }) {
		providers = append(providers, Local)
	}
	slices.Sort(providers)
	return slices.Compact(providers)
}

// CheckMode finds that there is an expose mode of that name.
func (r *Registry) CheckMode(ctx context.Context, mode string) error {
	_, err := r.Exposer(ctx, mode)
	return err
}

// Expose asks an expose mode for the surface of an interface. Its errors are
// [errdefs.KindPlugin].
func (r *Registry) Expose(ctx context.Context, mode string, req sdk.ExposeRequest) (sdk.Surface, error) {
	exposer, err := r.Exposer(ctx, mode)
	if err != nil {
		return sdk.Surface{}, errdefs.Wrap(errdefs.KindPlugin, err)
	}
	s, err := exposer.Expose(ctx, req)
	return s, errdefs.Wrap(errdefs.KindPlugin, err)
}
