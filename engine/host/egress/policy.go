package egress

import (
	"net/url"
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// destination is where a plugin may send, as it stands now.
type destination struct {
	origin origin
	users  bool // the user configured it: private addresses and http:// are allowed
	err    error
}

// policy is the manifest with the user's values in it, for one session.
type policy struct {
	g      *Gateway
	values values
	places map[string]destination // by the manifest's text
}

func (g *Gateway) newPolicy() *policy {
	p := &policy{g: g, values: g.o.read(), places: map[string]destination{}}
	for name, s := range p.values.secrets {
		if s.text != "" && s.problem == "" {
			g.scrub.know(name, s.text)
		}
	}
	return p
}

// settingName is the name in {name}.
func settingName(destination string) (string, bool) {
	name, ok := strings.CutPrefix(destination, "{")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, "}")
}

func (p *policy) place(text string) destination {
	d, known := p.places[text]
	if !known {
		d = p.resolve(text)
		p.places[text] = d
	}
	return d
}

func (p *policy) resolve(text string) destination {
	d := destination{}
	name, isSetting := settingName(text)
	where := "its manifest"
	if isSetting {
		s := p.values.settings[name]
		if s.text == "" {
			d.err = sdk.Errorf(sdk.Invalid, "plugin %s sends to the setting %s, which has no value; set %s", p.g.id, name, p.waysOf(name))
			return d
		}
		if text, d.users, where = s.text, s.users, s.where; where == "" {
			where = "its default"
		}
	}
	var err error
	if d.origin, err = parseOrigin(text); err != nil {
		d.err = sdk.Errorf(sdk.Invalid, "the destination %s of plugin %s (%s): %v", name, p.g.id, where, err)
	} else if d.origin.scheme == "http" && !d.users {
		d.err = sdk.Errorf(sdk.Invalid, "plugin %s may not send unencrypted to %s: only you can configure that", p.g.id, d.origin)
	}
	return d
}

func (p *policy) waysOf(setting string) string {
	for _, s := range p.g.o.Manifest.Settings {
		if s.Name == setting && len(s.Env) > 0 {
			return strings.Join(s.Env, " or ")
		}
	}
	return "it in the profile"
}

// allowHTTP checks a request, or what a redirect makes of it.
func (p *policy) allowHTTP(method string, u *url.URL) (destination, error) {
	if p.values.err != nil {
		return destination{}, p.values.err
	}
	to, err := originOf(u)
	if err != nil {
		return destination{}, sdk.Errorf(sdk.Invalid, "%v", err)
	}
	path, err := plainPath(u)
	if err != nil {
		return destination{}, sdk.Errorf(sdk.Invalid, "%v", err)
	}
	found := search{to: to}
	for _, r := range p.g.o.Manifest.Permissions.HTTP {
		found.add(p.place(r.Destination), func() bool {
			return slices.Contains(r.Methods, method) && slices.ContainsFunc(r.Paths, func(pattern string) bool { return matchPath(pattern, path) })
		})
	}
	return found.result(p.g.id, method+" "+u.EscapedPath())
}

// allowGRPC checks a call of a destination that the manifest names.
func (p *policy) allowGRPC(to origin, method string) (destination, error) {
	if p.values.err != nil {
		return destination{}, p.values.err
	}
	found := search{to: to}
	for _, r := range p.g.o.Manifest.Permissions.GRPC {
		found.add(p.place(r.Destination), func() bool { return matchMethod(r.Methods, method) })
	}
	return found.result(p.g.id, method)
}

// search goes through the permissions for one request.
type search struct {
	to          origin
	known, good bool
	users       bool
	err         error // of a destination that cannot be used
}

func (s *search) add(d destination, allowed func() bool) {
	switch {
	case d.err != nil:
		s.err = d.err
	case d.origin == s.to:
		s.known, s.users = true, s.users || d.users
		s.good = s.good || allowed()
	}
}

func (s *search) result(plugin, what string) (destination, error) {
	switch {
	case s.good:
		return destination{origin: s.to, users: s.users}, nil
	case s.known:
		return destination{}, sdk.Errorf(sdk.Unauthorized, "the manifest of plugin %s does not allow %s at %s", plugin, what, s.to)
	case s.err != nil:
		return destination{}, s.err
	default:
		return destination{}, sdk.Errorf(sdk.Unauthorized, "plugin %s may not send to %s: its manifest does not name it", plugin, s.to)
	}
}
