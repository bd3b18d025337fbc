package modal

import (
	"bytes"
	"encoding/json"
	"regexp"

	"github.com/seer-engine/seer/sdk"
)

// options are the user's provider_options.
type options struct {
	App   string `json:"app"`   // Modal's app that the machine belongs to
	Cloud string `json:"cloud"` // aws, gcp, oci …; empty = any
}

const defaultApp = "seer"

var objectName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`) // of apps, volumes and sandboxes

// parseOptions reads provider_options. Unknown keys are mistakes.
func parseOptions(raw json.RawMessage) (options, error) {
	var o options
	if len(raw) > 0 {
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(raw, &keys); err != nil {
			return o, sdk.Errorf(sdk.Invalid, "provider_options must be a mapping")
		}
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&o); err != nil {
			return o, sdk.Errorf(sdk.Invalid, "provider_options of modal: %v; it knows app and cloud, both text", err)
		}
	}
	if o.App == "" {
		o.App = defaultApp
	}
	if !objectName.MatchString(o.App) {
		return o, sdk.Errorf(sdk.Invalid, "provider_options.app is %q; Modal's names are up to 64 letters, digits, - _ and .", o.App)
	}
	return o, nil
}
