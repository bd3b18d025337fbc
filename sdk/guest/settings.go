package guest

import (
	"encoding/json"
	"fmt"

	"github.com/seer-engine/seer/sdk"
)

// Settings returns the values of the settings that the manifest names. A setting that the
// user has not set has its default, which may be empty.
func Settings() (map[string]string, error) {
	var values map[string]string
	if err := ask(settings, []byte("{}"), &values); err != nil {
		return nil, fmt.Errorf("reading the settings: %w", err)
	}
	return values, nil
}

// Setting returns one of [Settings]. One that the manifest does not name is empty;
// so is each when the host gives none, and then the log says why.
func Setting(name string) string {
	values, err := Settings()
	if err != nil {
		Warnf("%v", err)
	}
	return values[name]
}

// hostFunction takes JSON and returns an envelope.
type hostFunction func(in []byte) []byte

// ask calls the host; its refusal is an *sdk.Error.
func ask(function hostFunction, in []byte, out any) error {
	var e sdk.Envelope
	if err := json.Unmarshal(function(in), &e); err != nil {
		return fmt.Errorf("the host's answer: %w", err)
	}
	if e.Error != nil {
		return e.Error
	}
	return json.Unmarshal(e.OK, out)
}
