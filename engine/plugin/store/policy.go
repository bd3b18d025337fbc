package store

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/engine/plugin/host/access"
)

// Signatures says what the policy wants of a bundle.
type Signatures string

// The values of [Signatures].
const (
	SignaturesOff     Signatures = "off"
	SignaturesWarn    Signatures = "warn"
	SignaturesRequire Signatures = "require"
)

// Policy limits all plugins. No grant goes beyond it.
type Policy struct {
	File         string     `json:"file,omitempty"` // where it is from; "" = the default
	Signatures   Signatures `json:"signatures"`
	Signers      []string   `json:"signers"`      // fingerprints; empty = any
	Destinations []string   `json:"destinations"` // origins, or *.example.com; empty = any
	MaxMemoryMB  int        `json:"max_memory_mb"`
	Registries   []string   `json:"registries"` // hosts that may be asked; empty = any
}

// DefaultPolicy holds where nothing is configured.
func DefaultPolicy() Policy { return Policy{Signatures: SignaturesWarn, MaxMemoryMB: mostMemoryMB} }

// nobody stands in a list that allows nothing: an empty list would allow everything.
const nobody = "nobody.invalid"

// within is what two policies allow. File is that of the one that limits more, or else p's.
func (p Policy) within(limit Policy) Policy {
	if limit.File == "" {
		return p
	}
	if rank(limit.Signatures) > rank(p.Signatures) {
		p.Signatures = limit.Signatures
	}
	same := func(list []string) func(string) bool {
		return func(value string) bool { return slices.Contains(list, value) }
	}
	p.File = limit.File
	p.Signers = both(p.Signers, limit.Signers, same(p.Signers), same(limit.Signers))
	p.Registries = both(p.Registries, limit.Registries, same(p.Registries), same(limit.Registries))
	p.Destinations = both(p.Destinations, limit.Destinations, p.covers, limit.covers)
	p.MaxMemoryMB = min(p.MaxMemoryMB, limit.MaxMemoryMB)
	return p
}

// rank orders what policies want of signatures.
func rank(s Signatures) int {
	return slices.Index([]Signatures{SignaturesOff, SignaturesWarn, SignaturesRequire}, s)
}

// both is what two lists allow, of which an empty one allows everything.
func both(one, other []string, inOne, inOther func(string) bool) []string {
	switch {
	case len(one) == 0:
		return other
	case len(other) == 0:
		return one
	}
	var out []string
	for _, value := range one {
		if inOther(value) {
			out = append(out, value)
		}
	}
	for _, value := range other {
		if inOne(value) && !slices.Contains(out, value) {
			out = append(out, value)
		}
	}
	if len(out) == 0 {
		return []string{nobody}
	}
	return out
}

// covers reports whether the policy allows a destination, or all that *.domain stands for.
func (p Policy) covers(destination string) bool {
	domain, wild := strings.CutPrefix(destination, "*")
	if !wild {
		return p.Allows(destination)
	}
	return len(p.Destinations) == 0 || slices.ContainsFunc(p.Destinations, func(allowed string) bool {
		wide, ok := strings.CutPrefix(allowed, "*")
		return ok && strings.HasSuffix(domain, wide)
	})
}

// Limit parts permissions into those that the policy allows and those that it does not.
// Plugins that come with Seer are not bound by destinations.
func (p Policy) Limit(lines access.Set, builtIn bool) (allowed, refused access.Set) {
	for _, line := range lines {
		if p.memory(line) && (builtIn || p.destinations(line)) {
			allowed = append(allowed, line)
		} else {
			refused = append(refused, line)
		}
	}
	return allowed, refused
}

func (p Policy) memory(line string) bool {
	text, ok := strings.CutPrefix(line, "memory ")
	mb, err := strconv.Atoi(text)
	return !ok || err == nil && mb <= p.MaxMemoryMB
}

// destinations reports whether every destination that a line names is allowed. One
// that is a setting may be anything: it is checked when it is used, see [Store.Decide].
// A context of a kubeconfig says nothing about where it leads, so that none is allowed.
func (p Policy) destinations(line string) bool {
	words := strings.Split(line, " ")
	if words[0] == "kube" {
		return len(p.Destinations) == 0
	}
	if !slices.Contains([]string{"http", "grpc", "secret", "capture"}, words[0]) {
		return true
	}
	return !slices.ContainsFunc(words[1:], func(word string) bool {
		return strings.HasPrefix(word, "https://") && !p.Allows(word)
	})
}

// Allows reports whether plugins may send to an origin.
func (p Policy) Allows(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	return len(p.Destinations) == 0 || slices.ContainsFunc(p.Destinations, func(allowed string) bool {
		if domain, ok := strings.CutPrefix(allowed, "*"); ok {
			return u.Scheme == "https" && (u.Port() == "" || u.Port() == "443") && strings.HasSuffix(strings.ToLower(u.Hostname()), domain)
		}
		return plainOrigin(allowed) == plainOrigin(origin)
	})
}

// plainOrigin is an origin in one spelling.
func plainOrigin(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// AllowsHost refuses to ask a host for a plugin that the policy does not name.
func (p Policy) AllowsHost(host string) error {
	if len(p.Registries) == 0 || slices.Contains(p.Registries, strings.ToLower(host)) {
		return nil
	}
	return fmt.Errorf("the policy does not allow to ask %s for plugins; plugins.registries in %s lists %s", host, p.File, strings.Join(p.Registries, ", "))
}

// AllowsSigner judges who signed a plugin; "" = nobody. The warning is for the user,
// who may go on.
func (p Policy) AllowsSigner(id, fingerprint string) (warning string, err error) {
	switch {
	case p.Signatures == SignaturesOff:
		return "", nil
	case fingerprint == "" && p.Signatures == SignaturesRequire:
		return "", fmt.Errorf("%s is not signed, and plugins.signatures in %s requires it", id, p.File)
	case fingerprint == "":
		return "not signed: nothing says who made it", nil
	case len(p.Signers) == 0 || slices.Contains(p.Signers, fingerprint):
		return "", nil
	case p.Signatures == SignaturesRequire:
		return "", fmt.Errorf("%s is signed by %s, which is not among plugins.signers in %s", id, fingerprint, p.File)
	default:
		return fmt.Sprintf("signed by %s, which is not among plugins.signers in %s", fingerprint, p.File), nil
	}
}
