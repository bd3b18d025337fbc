package host

import (
	"context"
	"encoding/json"

	"github.com/seer-engine/seer/sdk"
)

// Loaded counts the modules that are kept, and the instances that live.
func (h *Host) Loaded() (modules, instances int) {
	all := h.modules()
	for _, m := range all {
		instances += len(m.instances())
	}
	return len(all), instances
}

// Unbounded switches off what keeps a module from being compiled and an answer from
// being read because it is too complex.
func (h *Host) Unbounded() { h.anyCode = true }

// Invoke calls one export of a plugin, with an empty input.
func (h *Host) Invoke(ctx context.Context, p Plugin, export string) error {
	_, err := invoke[json.RawMessage](ctx, caller{host: h, plugin: p}, export, struct{}{})
	return err
}

// Slots is how many instances of a plugin may run at once that asks for so much memory.
func Slots(l Limits, memoryMB int) int {
	return l.withDefaults().asked(sdk.PluginLimits{MemoryMB: memoryMB}).Instances
}

// AllowAnyFile lets surfaces have files that are not named after the service.
func (h *Host) AllowAnyFile() { h.anyFile = true }
