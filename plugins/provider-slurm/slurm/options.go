package slurm

import (
	"encoding/json"
	"strings"
	"unicode"

	given "github.com/seer-engine/seer/plugins/internal/options"
	"github.com/seer-engine/seer/sdk"
)

// options are the user's provider_options.
type options struct {
	Host       string   `json:"host"`
	Partition  string   `json:"partition"`
	Account    string   `json:"account"`
	QOS        string   `json:"qos"`
	Constraint string   `json:"constraint"`
	Gres       string   `json:"gres"` // instead of that of sandbox.gpu
	Nodelist   string   `json:"nodelist"`
	Exclude    string   `json:"exclude"`
	Modules    []string `json:"modules"` // loaded before the machine starts
	Setup      []string `json:"setup"`   // lines of shell after them
	VolumesDir string   `json:"volumes_dir"`
}

var optionNames = []string{"account", "constraint", "exclude", "gres", "host", "modules", "nodelist", "partition", "qos", "setup", "volumes_dir"}

// options reads provider_options, with the host of the setting where they have none. Unknown keys
// are mistakes.
func (p *Provider) options(raw json.RawMessage) (o options, err error) {
	if err := given.Read(Name, raw, optionNames, "modules and setup are lists of texts, and all else is a text", &o); err != nil {
		return o, err
	}
	if err := o.check(); err != nil {
		return o, err
	}
	if o.Host == "" {
		if o.Host, err = p.usual(); err != nil {
			return o, err
		}
	}
	if o.Host == "" {
		return o, sdk.Errorf(sdk.Invalid, "the provider slurm needs the cluster's login node: write provider_options: {slurm: {host: NAME}}, or name it in SEER_SLURM_HOST")
	}
	return o, nil
}

// check refuses what would be more than one word of a command or of a script.
func (o options) check() error {
	words := append([]string{o.Partition, o.Account, o.QOS, o.Constraint, o.Gres, o.Nodelist, o.Exclude}, o.Modules...)
	for _, word := range words {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsControl(r) || r == '\'' || r == ' ' }) {
			return sdk.Errorf(sdk.Invalid, "provider_options.slurm: %q must be one word without quotes", word)
		}
	}
	for _, line := range o.Setup {
		if strings.ContainsRune(line, 0) {
			return sdk.Errorf(sdk.Invalid, "provider_options.slurm: a line of setup holds a NUL byte")
		}
	}
	return nil
}

// usual is the host of the setting.
func (p *Provider) usual() (string, error) {
	values, err := p.Settings()
	return strings.TrimSpace(values["host"]), err
}
