package egress

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// ModelOrigin is the origin that the name of a model names: that of a URL, or https:// and
// what comes before the first slash, if it has a dot or a port.
func ModelOrigin(name string) (string, error) {
	o, err := modelOrigin(name)
	if err != nil {
		return "", err
	}
	return o.String(), nil
}

func modelOrigin(name string) (origin, error) {
	at, err := url.Parse(name)
	if err != nil || at.Scheme != "https" && at.Scheme != "http" || !strings.Contains(name, "://") {
		host, _, _ := strings.Cut(name, "/")
		if !strings.ContainsAny(host, ".:") || strings.HasSuffix(host, ":") {
			return origin{}, fmt.Errorf("%.100q names no host", name)
		}
		return parseOrigin("https://" + host)
	}
	return originOf(at)
}

// isModel reports whether a destination is that of a model. Plugins that are older may have a
// setting of that name.
func isModel(m sdk.Manifest, destination string) bool {
	return destination == sdk.DestinationModel && !slices.ContainsFunc(m.Settings, func(s sdk.Setting) bool { return "{"+s.Name+"}" == destination })
}

// ForModel makes the host that the name of a model names the destination {model} of the
// session. It is called before anything else.
func (s *Session) ForModel(name string) { s.model = name }

// model is the destination {model}. Private addresses, and http://, only the user can allow,
// by the setting model_origins: the author of an experiment must not reach into networks.
func (p *policy) model() destination {
	var d destination
	if d.origin, d.err = modelOrigin(p.named); d.err != nil {
		d.err = sdk.Errorf(sdk.Invalid, "%v", d.err)
		return d
	}
	v := p.values.settings[sdk.SettingModelOrigins]
	if !v.users {
		v.text = ""
	}
	listed := func(scheme string) bool {
		return slices.ContainsFunc(strings.Split(v.text, ","), func(text string) bool {
			o, err := parseOrigin(strings.TrimSpace(text))
			return err == nil && o.scheme == scheme && o.host == d.origin.host && (o.port == d.origin.port || d.origin.port == defaultPort(d.origin.scheme) && o.port == defaultPort(scheme))
		})
	}
	switch {
	case listed(d.origin.scheme):
		d.users = true
	case listed("http"):
		d.origin.scheme, d.users = "http", true
		if d.origin.port == defaultPort("https") {
			d.origin.port = defaultPort("http")
		}
	case d.origin.scheme == "http":
		d.err = sdk.Errorf(sdk.Invalid, "plugin %s may not send unencrypted to %s: only you can allow that, with %s", p.g.id, d.origin, p.waysOf(sdk.SettingModelOrigins))
	}
	return d
}
