package plugintest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/sdktest"
)

// contracts tries the plugin for each kind that it is.
func (r *run) contracts(ctx context.Context, h *host.Host) {
	for _, contract := range r.plugin.Manifest.Implements {
		kind, _, _ := strings.Cut(contract, "/")
		var checks []sdktest.Check
		var err error
		switch sdk.Kind(kind) {
		case sdk.KindProvider:
			checks, err = r.provider(ctx, h)
		case sdk.KindFetcher:
			checks, err = r.fetcher(ctx, h)
		case sdk.KindExpose:
			checks, err = r.exposer(ctx, h)
		}
		if err != nil {
			r.note(sdktest.Result{Check: kind, Status: sdktest.Failed, Detail: err.Error()})
			continue
		}
		r.checks(ctx, kind, checks)
	}
}

// checks runs those of one kind. What is to be skipped is not run, so that it costs
// nothing; the others do not need it.
func (r *run) checks(ctx context.Context, kind string, checks []sdktest.Check) {
	var wanted []sdktest.Check
	for _, c := range checks {
		why, skip := r.config.skipped(kind + "/" + c.Name)
		if !skip {
			why, skip = r.config.skipped(c.Name)
		}
		if skip {
			r.skip(kind+"/"+c.Name, why)
			continue
		}
		wanted = append(wanted, c)
	}
	sdktest.RunChecks(ctx, wanted, func(result sdktest.Result) {
		result.Check = kind + "/" + result.Check
		r.note(result)
	})
}

// name is the value by which users ask for the plugin.
func (r *run) name() string { return r.plugin.Manifest.Provides[0] }

func (r *run) provider(ctx context.Context, h *host.Host) ([]sdktest.Check, error) {
	p, err := h.Provider(ctx, r.name())
	if err != nil {
		return nil, err
	}
	checks := sdktest.ProviderChecks(r.kit(p, nil))
	if len(r.config.Scenarios) > 0 && r.world == nil && len(r.config.Simulator.Command) == 0 && r.config.Simulator.URL == "" {
		// All else would rent machines, of which the scenarios know only their own.
		checks = slices.DeleteFunc(checks, func(c sdktest.Check) bool { return !strings.HasPrefix(c.Name, "describe/") })
		r.skip("provider", "what rents machines is tried by the scenarios of "+ConfigFile)
	}
	return checks, nil
}

// kit says how to try the provider, which is in its host already.
func (r *run) kit(p sdk.Provider, live *sdktest.Live) sdktest.ProviderKit {
	kit := sdktest.ProviderKit{
		Open:  func(*http.Client) sdk.Provider { return p }, // the host speaks to the world itself
		World: r.world, Headers: http.Header{}, Secrets: values(r.secrets),
		Query: sdk.OfferQuery{GPU: r.config.GPU, Options: r.config.options()},
		Spec: func(s *sdk.MachineSpec) {
			if len(s.Options) == 0 {
				s.Options = r.config.options()
			}
		},
		PerHandle: r.config.PerHandle, Quick: r.o.Quick, Live: live,
	}
	for _, part := range r.config.Supports {
		kit.Supports = append(kit.Supports, sdktest.Part(part))
	}
	return kit
}

func (r *run) fetcher(ctx context.Context, h *host.Host) ([]sdktest.Check, error) {
	if len(r.config.Models) == 0 {
		r.skip("fetcher", "models: of "+ConfigFile+" names none that could be fetched")
		return nil, nil
	}
	model, folder := r.config.Models[0], ""
	var granted []string
	if r.plugin.Manifest.Permissions.Folders {
		if !filepath.IsAbs(model) {
			abs, err := filepath.Abs(filepath.Join(r.o.folder(), model))
			if err != nil {
				return nil, err
			}
			model = abs
		}
		folder, granted = model, []string{model, model + "-seer-no-such-model"}
	}
	f, err := h.Fetcher(ctx, r.name(), granted...)
	if err != nil {
		return nil, err
	}
	return sdktest.FetcherChecks(sdktest.FetcherKit{
		Open:  func(*http.Client) sdk.Fetcher { return f },
		World: r.world, Headers: http.Header{}, Secrets: values(r.secrets),
		Model: sdk.ModelRef{Source: r.name(), Name: model}, Folder: folder, AllowHTTP: r.world != nil, Quick: r.o.Quick,
	}), nil
}

func (r *run) exposer(ctx context.Context, h *host.Host) ([]sdktest.Check, error) {
	e, err := h.Exposer(ctx, r.name())
	if err != nil {
		return nil, err
	}
	kit := sdktest.ExposeKit{Open: func() sdk.Exposer { return e }, Permissions: r.plugin.Manifest.Permissions, Quick: r.o.Quick}
	if raw := r.config.options(); raw != nil {
		kit.Options = []json.RawMessage{raw}
	}
	return sdktest.ExposeChecks(kit), nil
}

// once makes the call that is repeated to measure: one that every plugin of the kind
// answers, with a backend or without.
func (r *run) once(ctx context.Context, h *host.Host) (func(context.Context) error, error) {
	kind, _, _ := strings.Cut(r.plugin.Manifest.Implements[0], "/")
	switch sdk.Kind(kind) {
	case sdk.KindProvider:
		p, err := h.Provider(ctx, r.name())
		return func(ctx context.Context) error { _, err := p.Describe(ctx); return err }, err
	case sdk.KindExpose:
		e, err := h.Exposer(ctx, r.name())
		req := sdk.ExposeRequest{Name: "tools", Interface: sdktest.Interfaces()["plain"], Options: r.config.options()}
		return func(ctx context.Context) error { _, err := e.Expose(ctx, req); return err }, err
	case sdk.KindFetcher:
		f, err := h.Fetcher(ctx, r.name())
		return func(ctx context.Context) error {
			// That there is no such file is an answer.
			_, err := f.Locate(ctx, sdk.FileRef{Source: r.name(), Name: "none", Revision: "none", Path: "none"})
			if sdk.CodeOf(err) == sdk.Internal {
				return err
			}
			return nil
		}, err
	}
	return nil, fmt.Errorf("there is no kind %q", kind)
}
