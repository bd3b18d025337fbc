package egress

import (
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/sdk"
)

// binding is where a secret of the user's goes.
type binding struct {
	secret sdk.Secret
	sdk.Binding
	asked sdk.Binding // as the manifest writes it
}

// capture is a credential of a backend's, and where it goes.
type capture struct {
	sdk.Capture
	field, url []protoField
}

func parseBindings(m sdk.Manifest) []binding {
	var out []binding
	for _, s := range m.Secrets {
		for _, b := range s.Bind {
			asked := b
			b.Header = strings.ToLower(b.Header)
			out = append(out, binding{s, b, asked})
		}
	}
	return out
}

func parseCaptures(m sdk.Manifest) []capture {
	var out []capture
	for _, c := range m.Captures {
		c.Bind = slices.Clone(c.Bind)
		for i := range c.Bind {
			c.Bind[i].Header = strings.ToLower(c.Bind[i].Header)
		}
		parsed := capture{Capture: c}
		parsed.field, _ = parseFieldPath(c.Field) // checked with the manifest
		if c.URLField != "" {
			parsed.url, _ = parseFieldPath(c.URLField)
		}
		out = append(out, parsed)
	}
	return out
}

// withheldBindings are those that the manifest asks for and that are not granted.
func withheldBindings(o Options) []binding {
	have := parseBindings(o.Manifest)
	return slices.DeleteFunc(parseBindings(o.Asked), func(b binding) bool {
		return slices.ContainsFunc(have, func(h binding) bool { return h.secret.Name == b.secret.Name && h.asked == b.asked })
	})
}

// format puts a credential into its header's form.
func format(form, value string) string {
	if form == "" {
		return value
	}
	return strings.Replace(form, "{}", value, 1)
}

// unformat is the inverse of format.
func unformat(form, text string) (string, bool) {
	if form == "" {
		return text, true
	}
	before, after, _ := strings.Cut(form, "{}")
	text, ok := strings.CutPrefix(text, before)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(text, after)
}

// bind puts credentials into h, for one destination: those of the user that the
// manifest binds to it, and captured ones in place of their placeholders.
func (p *policy) bind(h header, to origin) error {
	if err := p.bindSecrets(h, to); err != nil {
		return err
	}
	headers := p.g.captureBindings(func(c capture, b sdk.Binding) bool {
		if c.url != nil {
			return false // goes only where its URL says; see bindCaptured
		}
		d := p.place(b.Destination)
		return d.err == nil && d.origin == to
	})
	for name, places := range headers {
		if _, err := p.exchange(h, name, places, to); err != nil {
			return err
		}
	}
	return nil
}

// bindSecrets replaces what the plugin has put there, also with nothing.
func (p *policy) bindSecrets(h header, to origin) error {
	here := slices.DeleteFunc(slices.Clone(p.g.bindings), func(b binding) bool {
		d := p.place(b.Destination)
		return d.err != nil || d.origin != to
	})
	for _, b := range here {
		delete(h, b.Header)
	}
	if err := p.withheld(h, to); err != nil {
		return err
	}
	for _, b := range here {
		v := p.values.secrets[b.secret.Name]
		switch {
		case v.problem != "":
			return sdk.Errorf(sdk.Unauthorized, "%s", v.problem)
		case v.text == "" && !b.secret.Optional:
			return p.g.o.missing(b.secret)
		case v.text != "" && h[b.Header] == nil:
			h[b.Header] = []string{format(b.Format, v.text)}
		}
	}
	return nil
}

// withheld refuses a request that needs a credential whose use was not granted: the
// answer to it without one would blame the credential.
func (p *policy) withheld(h header, to origin) error {
	for _, b := range p.g.withheld {
		if d := p.place(b.Destination); !b.secret.Optional && d.err == nil && d.origin == to {
			delete(h, b.Header)
			return p.g.notGranted("requests to "+to.String(), access.Secret(p.g.o.Asked, b.secret, b.asked))
		}
	}
	return nil
}

// bindCaptured finds the credential that a backend gave for the URL of this call. It
// gives none where no backend gave one for it.
func (p *policy) bindCaptured(h header, to origin, method string) (*credential, error) {
	headers := p.g.captureBindings(func(c capture, _ sdk.Binding) bool {
		return c.url != nil && matchMethod(c.GRPC, method) && p.g.vault.covers(c.Name, to) && within(p.g.o.Destinations, to)
	})
	for name, places := range headers {
		if cred, err := p.exchange(h, name, places, to); err != nil || cred != nil {
			return cred, err
		}
	}
	if len(headers) == 0 {
		return nil, nil
	}
	return nil, sdk.Errorf(sdk.Unauthorized, "%s may be called only with the credential that came with it", to)
}

// captureBinding is a place where a captured credential goes.
type captureBinding struct {
	capture
	format string
}

// captureBindings lists, by header, those that match.
func (g *Gateway) captureBindings(match func(capture, sdk.Binding) bool) map[string][]captureBinding {
	out := map[string][]captureBinding{}
	for _, c := range g.captures {
		for _, b := range c.Bind {
			if match(c, b) {
				out[b.Header] = append(out[b.Header], captureBinding{c, b.Format})
			}
		}
	}
	return out
}

// exchange puts credentials in place of the placeholders in one header. A bound header
// holds a placeholder of ours or the request is refused.
func (p *policy) exchange(h header, name string, places []captureBinding, to origin) (*credential, error) {
	var last *credential
	for i, text := range h[name] {
		found := false
		for _, place := range places {
			placeholder, ok := unformat(place.format, text)
			cred := p.g.vault.find(placeholder)
			if !ok || cred == nil || cred.name != place.Name || place.url != nil && cred.origin != to {
				continue
			}
			h[name][i] = format(place.format, cred.real)
			last, found = cred, true
			break
		}
		if !found {
			return nil, sdk.Errorf(sdk.Unauthorized, "the header %s for %s holds no credential that was given for it, or one that has expired", name, to)
		}
	}
	return last, nil
}

// isBound reports whether a header may hold a credential or a placeholder for any
// destination.
func (g *Gateway) isBound(name string) bool {
	for _, b := range g.bindings {
		if b.Header == name {
			return true
		}
	}
	for _, c := range g.captures {
		for _, b := range c.Bind {
			if b.Header == name {
				return true
			}
		}
	}
	return false
}
