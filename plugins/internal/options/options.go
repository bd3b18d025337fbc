// Package options is for expose modes that have none.
package options

import (
	"encoding/json"

	"github.com/seer-engine/seer/sdk"
)

// None refuses options, which would otherwise silently mean nothing.
func None(mode string, raw json.RawMessage) error {
	var given map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &given) == nil && len(given) == 0 {
		return nil
	}
	return sdk.Errorf(sdk.Invalid, "the expose mode %s has no options; leave out: %s", mode, raw)
}
