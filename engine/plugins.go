package engine

import (
	"context"

	"github.com/seer-engine/seer/engine/offers"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/store"
	"github.com/seer-engine/seer/sdk"
)

// ProviderOffer is an offer and who makes it.
type ProviderOffer = offers.ProviderOffer

// OfferQueries are the questions for any of several GPUs; without one, for machines without a GPU.
func OfferQueries(q sdk.OfferQuery, gpus []string) []sdk.OfferQuery { return offers.Queries(q, gpus) }

// Plugins lists the installed plugins without running their code. The errors are
// those of plugins that cannot be used.
func (e *Engine) Plugins(ctx context.Context) ([]host.Plugin, []error) { return e.plugins.Plugins(ctx) }

// Plugin is the plugin that serves a provider, a source of models or an expose mode; false = none.
func (e *Engine) Plugin(ctx context.Context, kind sdk.Kind, name string) (host.Plugin, bool) {
	return e.plugins.Plugin(ctx, kind, name)
}

// PluginDirs are the folders in which plugins are looked for, in order.
func (e *Engine) PluginDirs() []string { return e.plugins.Dirs() }

// PluginStore is where installed plugins, grants and the audit are.
func (e *Engine) PluginStore() (*store.Store, error) { return e.plugins.Store() }

// CheckProviders finds that there are providers of these names. An absent one is [KindPlugin].
func (e *Engine) CheckProviders(ctx context.Context, names ...string) error {
	return e.plugins.CheckProviders(ctx, names...)
}

// Offers asks providers for available machines, cheapest first. Without names it asks all
// installed providers, and this computer, unless the query names regions. The error names
// providers that could not be asked, and unknown names; the offers of the others are valid
// nevertheless. See [OfferQueries].
func (e *Engine) Offers(ctx context.Context, providers []string, queries []sdk.OfferQuery, progress Progress) ([]ProviderOffer, error) {
	providers = e.plugins.Asked(ctx, providers, queries)
	e.plugins.Announce(ctx, providers, e.reporter(progress))
	found, err := offers.Merge(offers.Ask(ctx, e.driver.Offers, providers, func(string) []sdk.OfferQuery { return queries }))
	return found, as(KindProvider, err)
}

// Expose asks an expose mode (library, mcp, prompt or a plugin's) for the surface of an
// interface. Nothing is written; see package surface.
func (e *Engine) Expose(ctx context.Context, mode string, req sdk.ExposeRequest) (sdk.Surface, error) {
	return e.plugins.Expose(ctx, mode, req)
}
