package egress

import (
	"net/url"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/sdk"
)

// destination is where a plugin may send, as it stands now.
type destination struct {
	origin origin
	users  bool // the user configured it: private addresses and http:// are allowed
	err    error
	line   string // the permission that allows the request
}

// policy is the manifest with the user's values in it, for one session.
type policy struct {
	g      *Gateway
	values values
	named  string                 // the model that the call is about
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
	if isModel(p.g.o.Manifest, text) {
		return p.model()
	}
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
	found := p.searchHTTP(p.g.o.Manifest, to, method, path)
	if !found.good() {
		asked := p.searchHTTP(p.g.o.Asked, to, method, path)
		found.asked = asked.line
	}
	return found.result(p.g, method+" "+u.EscapedPath())
}

func (p *policy) searchHTTP(m sdk.Manifest, to origin, method, path string) search {
	found := search{to: to}
	for _, r := range m.Permissions.HTTP {
		found.add(p.place(r.Destination), func() string {
			i := slices.IndexFunc(r.Paths, func(pattern string) bool { return matchPath(pattern, path) })
			if i < 0 || !slices.Contains(r.Methods, method) {
				return ""
			}
			return access.HTTP(m, r, method, r.Paths[i])
		})
	}
	return found
}

// allowGRPC checks a call of a destination that the manifest names.
func (p *policy) allowGRPC(to origin, method string) (destination, error) {
	if p.values.err != nil {
		return destination{}, p.values.err
	}
	found := p.searchGRPC(p.g.o.Manifest, to, method)
	if !found.good() {
		asked := p.searchGRPC(p.g.o.Asked, to, method)
		found.asked = asked.line
	}
	return found.result(p.g, method)
}

func (p *policy) searchGRPC(m sdk.Manifest, to origin, method string) search {
	found := search{to: to}
	for _, r := range m.Permissions.GRPC {
		found.add(p.place(r.Destination), func() string {
			i := slices.IndexFunc(r.Methods, func(pattern string) bool { return matchMethod([]string{pattern}, method) })
			if i < 0 {
				return ""
			}
			return access.GRPC(m, r, r.Methods[i])
		})
	}
	return found
}

// search goes through the permissions for one request.
type search struct {
	to    origin
	line  string // the permission that allows it
	known bool   // the destination is named
	users bool
	asked string // the permission that would allow it, and was not granted
	err   error  // of a destination that cannot be used
}

func (s *search) good() bool { return s.line != "" }

func (s *search) add(d destination, allowed func() string) {
	switch {
	case d.err != nil:
		s.err = d.err
	case d.origin == s.to:
		s.known, s.users = true, s.users || d.users
		if s.line == "" {
			s.line = allowed()
		}
	}
}

func (s *search) result(g *Gateway, what string) (destination, error) {
	switch {
	case s.good() && !within(g.o.Destinations, s.to):
		return destination{}, sdk.Errorf(sdk.Unauthorized, "plugin %s may not send to %s: the policy for plugins does not allow it (plugins.destinations)", g.id, s.to)
	case s.good():
		return destination{origin: s.to, users: s.users, line: s.line}, nil
	case s.asked != "":
		return destination{}, g.notGranted(what+" at "+s.to.String(), s.asked)
	case s.known:
		return destination{}, sdk.Errorf(sdk.Unauthorized, "the manifest of plugin %s does not allow %s at %s", g.id, what, s.to)
	case s.err != nil:
		return destination{}, s.err
	default:
		return destination{}, sdk.Errorf(sdk.Unauthorized, "plugin %s may not send to %s: its manifest does not name it", g.id, s.to)
	}
}

// notGranted says that it is the user who can help, and not the plugin's author.
func (g *Gateway) notGranted(what, line string) error {
	return sdk.Errorf(sdk.Unauthorized, "plugin %s may not do %s: its manifest asks for `%s`, but it was not granted; grant it to the plugin", g.id, what, line)
}

// within reports whether a policy allows an origin. *.example.com is every host below
// example.com, over TLS or not.
func within(allowed []string, to origin) bool {
	if len(allowed) == 0 {
		return true
	}
	return slices.ContainsFunc(allowed, func(text string) bool {
		if domain, ok := strings.CutPrefix(text, "*."); ok {
			return strings.HasSuffix(to.host, "."+strings.ToLower(domain))
		}
		o, err := parseOrigin(text)
		return err == nil && o == to
	})
}
