package install

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/plugin/oci"
)

// compare finds out what the plan changes, and whether the user has to be asked.
func (i Installer) compare(p *Plan) error {
	active, err := i.Store.Active()
	if err != nil {
		return err
	}
	if digest := active[p.ID]; digest != "" {
		// One that cannot be read is replaced by this one: there is nothing to compare.
		if in, err := i.Store.Lookup(digest); err == nil {
			p.Active = &in
			p.Added, p.Removed = p.Access.Without(in.Access), in.Access.Without(p.Access)
		} else {
			p.warn("the active version cannot be read: %v", err)
		}
	}
	if p.Active == nil {
		p.Added = p.Access
	}
	if _, p.decided, err = i.Store.GrantOf(p.ID, p.Wasm); err != nil {
		return err
	}
	if err := i.published(p); err != nil {
		return err
	}
	if p.Active != nil && !p.Locked && older(p.Version, p.Active.Version) {
		p.ask("it is older (%s) than the version that is used now (%s)", p.Version, p.Active.Version)
	}
	if p.Active != nil && !p.Locked && p.Version != p.Active.Version && compareVersions(p.Version, p.Active.Version) == 0 {
		p.ask("nobody can tell whether it (%s) is newer than the version that is used now (%s)", p.Version, p.Active.Version)
	}
	i.shadows(p)
	return i.follow(p)
}

// shadows finds plugins whose id or names this one has too: of those that have the same,
// one is used, and an experiment does not say which it means.
func (i Installer) shadows(p *Plan) {
	for _, other := range i.Others {
		m := other.Manifest
		stored := filepath.Dir(filepath.Dir(other.File)) == i.Store.BundleDir()
		if m.ID == p.ID && !stored { // one of the store is compared as a version
			p.ask("a plugin of this id is used already (%s), and only one of them can be", other.File)
		}
		if m.ID == p.ID || !slices.ContainsFunc(p.Contract, func(c string) bool { return slices.Contains(m.Implements, c) }) {
			continue
		}
		for _, name := range p.Provides {
			if slices.Contains(m.Provides, name) {
				p.ask("it provides %q, as does %s (%s), and only one of them can be used", name, m.ID, other.File)
			}
		}
	}
}

// published notices a version that was published twice.
func (i Installer) published(p *Plan) error {
	all, _ := i.Store.List() // what cannot be read is told where it is used
	for _, in := range all {
		if in.ID == p.ID && in.Version == p.Version && in.Digest != p.Digest && !p.Locked {
			p.ask("version %s was something else when it was installed from %s (%s): it was changed without a new number", p.Version, in.Origin.Reference, in.Time.Format("2 Jan 2006"))
			return nil
		}
	}
	return nil
}

// follow finds the grant under which this version may replace the active one at once.
func (i Installer) follow(p *Plan) error {
	if p.decided || len(p.Access) == 0 && len(p.Why) == 0 {
		return nil
	}
	p.NeedsGrant = true
	if p.Active == nil {
		return nil
	}
	g, ok, err := i.Store.GrantOf(p.ID, p.Active.Wasm)
	if err != nil || !ok || len(p.Access.Without(g.Asked)) > 0 {
		return err
	}
	switch elsewhere := home(p.Origin.Reference) != home(p.Active.Origin.Reference); {
	case p.signer() != p.Active.Signer:
		p.ask("it is signed by %s, the version that is used now by %s: nothing says that both are by the same author", orNobody(p.signer()), orNobody(p.Active.Signer))
	case p.signer() == "" && elsewhere:
		p.ask("it is from %s, the version that is used now is from %s, and no signature says that both are by the same author", p.Origin.Reference, p.Active.Origin.Reference)
	}
	if len(p.Why) == 0 {
		p.NeedsGrant, p.under = false, &g
	}
	return nil
}

func (p *Plan) ask(format string, args ...any) {
	p.Why = append(p.Why, fmt.Sprintf(format, args...))
}

func (p *Plan) signer() string {
	if p.Signer == nil {
		return ""
	}
	return p.Signer.Fingerprint
}

func orNobody(signer string) string {
	if signer == "" {
		return "nobody"
	}
	return signer
}

// home is where the versions of one plugin come from.
func home(ref string) string {
	place, err := oci.Resolve(ref)
	if err != nil {
		return ref
	}
	switch place.Kind {
	case oci.Registry:
		name, _, _ := strings.Cut(place.Name, "@")
		if at := strings.LastIndexByte(name, ':'); at > strings.LastIndexByte(name, '/') {
			name = name[:at]
		}
		return name
	case oci.URL:
		if u, err := url.Parse(ref); err == nil {
			return u.Host
		}
		return ref
	default:
		return filepath.Dir(ref)
	}
}
