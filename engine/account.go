package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/host"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/trust"
	"github.com/seer-engine/seer/sdk"
)

// account is another text for other credentials or settings of a provider, and says
// nothing else of them. It is empty for a provider that has none.
func (e *Engine) account(ctx context.Context, provider string) string {
	h, p, ok := e.providerPlugin(ctx, provider)
	if !ok {
		return ""
	}
	settings, err := h.Settings(ctx, p)
	if err != nil {
		return ""
	}
	sum, has := sha256.New(), false
	for _, s := range h.Secrets(ctx, p) {
		fmt.Fprintf(sum, "%s=%s\n", s.Name, s.Mark)
		has = has || s.Mark != ""
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(sum, "%s=%q\n", name, settings[name])
	}
	if !has {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// providerPlugin finds the plugin of a provider that is not the program's own.
func (e *Engine) providerPlugin(ctx context.Context, provider string) (*host.Host, host.Plugin, bool) {
	if e.cheap(provider) {
		return nil, host.Plugin{}, false
	}
	h, err := e.host()
	if err != nil {
		return nil, host.Plugin{}, false
	}
	plugins, _ := h.Plugins(ctx)
	at := slices.IndexFunc(plugins, func(p host.Plugin) bool {
		return slices.Contains(provided([]host.Plugin{p}, string(sdk.KindProvider)), provider)
	})
	if at < 0 {
		return nil, host.Plugin{}, false
	}
	return h, plugins[at], true
}

// paying says where the credentials of a provider come from. Those of a .env file are told
// apart by their digest: whoever writes the file may replace the account.
func (e *Engine) paying(ctx context.Context, provider string) trust.Account {
	a := trust.Account{Provider: provider, Credentials: []string{}}
	h, p, ok := e.providerPlugin(ctx, provider)
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
