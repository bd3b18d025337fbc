package ssh

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	given "github.com/seer-engine/seer/plugins/internal/options"
	"github.com/seer-engine/seer/sdk"
)

// options are the user's provider_options.
type options struct {
	Host  string   `json:"host"`
	Hosts []string `json:"hosts"`

	VolumesDir string `json:"volumes_dir"`
}

var optionNames = []string{"host", "hosts", "volumes_dir"}

// hosts are those of provider_options, or else those of the setting, in order and each once.
func (p *Provider) hosts(raw json.RawMessage) ([]string, error) {
	o, err := parseOptions(raw)
	if err != nil {
		return nil, err
	}
	hosts := o.Hosts
	if o.Host != "" {
		hosts = append([]string{o.Host}, hosts...)
	}
	if len(hosts) == 0 {
		if hosts, err = p.usual(); err != nil {
			return nil, err
		}
	}
	if len(hosts) == 0 {
		return nil, sdk.Errorf(sdk.Invalid, "the provider ssh needs a host: write provider_options: {ssh: {host: NAME}}, or list hosts in SEER_SSH_HOSTS or ~/.config/seer/ssh-hosts")
	}
	return unique(hosts), nil
}

// usual are the hosts of the setting.
func (p *Provider) usual() ([]string, error) {
	values, err := p.Settings()
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(values["hosts"], func(r rune) bool { return r == ',' || unicode.IsSpace(r) }), nil
}

// parseOptions reads provider_options. Unknown keys are mistakes.
func parseOptions(raw json.RawMessage) (o options, err error) {
	if err := given.Read(Name, raw, optionNames, "host and volumes_dir are texts, and hosts is a list of names", &o); err != nil {
		return o, err
	}
	for _, host := range o.Hosts {
		if host == "" {
			return o, sdk.Errorf(sdk.Invalid, "provider_options.ssh: hosts holds an empty name")
		}
	}
	return o, nil
}

func unique(hosts []string) []string {
	var out []string
	for _, host := range hosts {
		if !slices.Contains(out, host) {
			out = append(out, host)
		}
	}
	return out
}
