package plugintest

import (
	"encoding/json"
	"errors"

	"github.com/seer-engine/seer/sdk"
)

// ConfigFile is the file beside plugin.yaml that says how a plugin is tried.
const ConfigFile = "conformance.yaml"

// Config is conformance.yaml. Everything in it may be missing.
type Config struct {
	Simulator Simulator         `json:"simulator" yaml:"simulator"`
	Settings  map[string]string `json:"settings" yaml:"settings"` // values of the plugin's settings; {url} = the simulator's address
	Options   map[string]any    `json:"options" yaml:"options"`   // provider_options, or options of an expose mode, that work
	Models    []string          `json:"models" yaml:"models"`     // names that a fetcher resolves
	Interface *sdk.Interface    `json:"interface" yaml:"-"`       // for an expose mode, in place of the kit's own
	Live      Live              `json:"live" yaml:"live"`
	Skip      map[string]string `json:"skip" yaml:"skip"` // check or group → why it does not apply

	raw json.RawMessage
}

// Simulator is a backend that can be tried without an account: a program that the kit
// starts, or one that already runs.
//
// The command is started in the folder of conformance.yaml with SEER_SIMULATOR_ADDR, a
// free address of loopback at which it should listen. It writes the URL of its API as
// the first line of its output when it is ready, and ends when its input does.
type Simulator struct {
	Command []string `json:"command" yaml:"command"`
	URL     string   `json:"url" yaml:"url"`
}

// Live limits what a test on the real backend may cost.
type Live struct {
	MaxCost float64 `json:"max_cost" yaml:"max_cost"` // USD; 0 = nothing may be rented
	Offer   string  `json:"offer" yaml:"offer"`       // ID of what is rented; "" = the cheapest
}

// ParseConfig reads conformance.yaml strictly. Every problem is reported, as
// "file:line: what".
func ParseConfig(file string, text []byte) (Config, error) {
	return Config{}, errors.New("not yet")
}
