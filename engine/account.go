package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/seer-engine/seer/engine/host"
	"github.com/seer-engine/seer/sdk"
)

// account is another text for other credentials or settings of a provider, and says
// nothing else of them. It is empty for a provider that has none.
func (e *Engine) account(ctx context.Context, provider string) string {
	if e.cheap(provider) {
		return ""
	}
	h, err := e.host()
	if err != nil {
		return ""
	}
	plugins, _ := h.Plugins(ctx)
	at := slices.IndexFunc(plugins, func(p host.Plugin) bool {
		return slices.Contains(provided([]host.Plugin{p}, string(sdk.KindProvider)), provider)
	})
	if at < 0 {
		return ""
	}
	settings, err := h.Settings(ctx, plugins[at])
	if err != nil {
		return ""
	}
	sum, has := sha256.New(), false
	for _, s := range h.Secrets(ctx, plugins[at]) {
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
