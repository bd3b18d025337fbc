// Package options reads the options of providers, and refuses those of expose modes, which have none.
package options

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// Read decodes provider_options into a struct, which keeps what it has where they say nothing.
// Keys that are not among names are mistakes. form says what the values must be.
func Read(provider string, raw json.RawMessage, names []string, form string, into any) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var keys map[string]json.RawMessage
	if json.Unmarshal(raw, &keys) != nil {
		return sdk.Errorf(sdk.Invalid, "provider_options.%s must be a mapping", provider)
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains(names, key) {
			return sdk.Errorf(sdk.Invalid, "provider_options.%s: there is no %q; there are %s", provider, key, strings.Join(names, ", "))
		}
	}
	if json.Unmarshal(raw, into) != nil {
		return sdk.Errorf(sdk.Invalid, "provider_options.%s: %s", provider, form)
	}
	return nil
}

// None refuses options, which would otherwise silently mean nothing.
func None(mode string, raw json.RawMessage) error {
	var given map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &given) == nil && len(given) == 0 {
		return nil
	}
	return sdk.Errorf(sdk.Invalid, "the expose mode %s has no options; leave out: %s", mode, raw)
}
