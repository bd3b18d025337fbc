package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/trust"
	"github.com/seer-engine/seer/sdk"
)

// Account is the same text for all credentials and settings that show the same machines
// of a provider, and tells nothing of them. Where the provider cannot tell, or its
// credentials may not ask, it is of the credential and of where that is sent. It is empty
// for a provider of this program.
func (r *Registry) Account(ctx context.Context, provider string) (string, error) {
	h, p, ok := r.providerPlugin(ctx, provider)
	if !ok {
		return "", nil
	}
	found, err := h.Provider(ctx, provider)
	if err != nil {
		return "", err
	}
	if a, ok := found.(sdk.Accounter); ok {
		account, err := a.Account(ctx)
		switch sdk.CodeOf(err) {
		case "":
			return machine.AccountPrefix + digest(account.ID), nil
		case sdk.Unauthorized, sdk.Unsupported, sdk.NotFound, sdk.Invalid, sdk.Internal:
		default:
			return "", err
		}
	}
	return keyAccount(ctx, h, p)
}

// keyAccount is of the credential and of where it is sent. A new key is another account.
func keyAccount(ctx context.Context, h *host.Host, p host.Plugin) (string, error) {
	settings, err := h.Settings(ctx, p)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, s := range h.Secrets(ctx, p) {
		if s.Mark != "" {
			fmt.Fprintf(&text, "%s=%s\n", s.Name, s.Mark)
		}
	}
	if text.Len() == 0 {
		return "", nil
	}
	for _, s := range p.Manifest.Secrets {
		for _, b := range s.Bind {
			fmt.Fprintf(&text, "%q\n", settings[strings.Trim(b.Destination, "{}")])
		}
	}
	return digest(text.String()), nil
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// providerPlugin finds the plugin of a provider that is not the program's own.
func (r *Registry) providerPlugin(ctx context.Context, provider string) (*host.Host, host.Plugin, bool) {
	if r.Native(provider) {
		return nil, host.Plugin{}, false
	}
	return r.pluginOf(ctx, sdk.KindProvider, provider)
}

// pluginOf finds the plugin that provides a name.
func (r *Registry) pluginOf(ctx context.Context, kind sdk.Kind, name string) (*host.Host, host.Plugin, bool) {
	h, err := r.host()
	if err != nil {
		return nil, host.Plugin{}, false
	}
	plugins, _ := h.Plugins(ctx)
	at := slices.IndexFunc(plugins, func(p host.Plugin) bool {
		return slices.Contains(provided([]host.Plugin{p}, string(kind)), name)
	})
	if at < 0 {
		return nil, host.Plugin{}, false
	}
	return h, plugins[at], true
}

// Reading says which of the user's credentials a source of models is read with. One that is
// in a .env file is the project's own.
func (r *Registry) Reading(ctx context.Context, source string) (credentials []string) {
	if r.o.Fetchers[source] != nil {
		return nil
	}
	h, p, ok := r.pluginOf(ctx, sdk.KindFetcher, source)
	if !ok {
		return nil
	}
	for _, s := range h.Secrets(ctx, p) {
		if _, file, _ := strings.Cut(s.Where, " of "); s.Mark == "" || filepath.Base(file) == preflight.DotEnv {
			continue
		}
		credentials = append(credentials, s.Where)
	}
	return credentials
}

// Paying says where the credentials of a provider come from. Those of a .env file are told
// apart by their digest: whoever writes the file may replace the account.
func (r *Registry) Paying(ctx context.Context, provider string) trust.Account {
	a := trust.Account{Provider: provider, Credentials: []string{}}
	h, p, ok := r.providerPlugin(ctx, provider)
	if !ok {
		return a
	}
	for _, s := range h.Secrets(ctx, p) {
		if s.Mark == "" {
			continue
		}
		from := s.Where
		if !strings.Contains(from, " of ") { // a profile names itself
			from = s.Name + " of " + from
		}
		a.Credentials = append(a.Credentials, from)
		if _, file, _ := strings.Cut(s.Where, " of "); filepath.Base(file) == preflight.DotEnv && filepath.IsAbs(file) {
			a.Project, a.Digest = file, a.Digest+s.Mark
		}
	}
	return a
}

// Identity is the same text for the same plugin of a provider with the same settings. It is empty
// for a provider of this program.
func (r *Registry) Identity(ctx context.Context, provider string) (string, error) {
	h, p, ok := r.providerPlugin(ctx, provider)
	if !ok {
		return "", nil
	}
	settings, err := h.Settings(ctx, p)
	if err != nil {
		return "", err
	}
	text := p.Digest
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		text += fmt.Sprintf(" %q=%q", name, settings[name])
	}
	return digest(text), nil
}
