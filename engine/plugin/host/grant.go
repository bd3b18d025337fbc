package host

import (
	"context"
	"errors"
	"strings"

	"github.com/seer-engine/seer/engine/plugin/host/access"
)

// Grant is what a plugin may do, and who says so.
type Grant struct {
	Lines access.Set `json:"lines"` // of these it gets what its manifest asks for
	By    string     `json:"by"`    // for people: "built in", "you, on 21 Nov 2026"

	// Destinations limits where it may send, whatever the lines say: origins, or
	// *.example.com for all hosts below. Empty = no limit.
	Destinations []string `json:"destinations,omitempty"`
}

// ErrNotGranted is the answer of [Options.Access] for a plugin that nobody has granted
// anything.
var ErrNotGranted = errors.New("not granted")

// GrantAll is an [Options.Access] that gives every plugin what it asks for. It is for
// programs that bring their own plugins, and for tests.
func GrantAll(_ context.Context, p Plugin) (Grant, error) {
	return Grant{Lines: p.Access, By: "this program"}, nil
}

// granted is what a plugin may do now. Without an error it may run.
func (h *Host) granted(ctx context.Context, p Plugin) (Grant, error) {
	if len(p.Access) == 0 {
		return Grant{}, nil
	}
	err := ErrNotGranted
	var g Grant
	if h.access != nil {
		g, err = h.access(ctx, p)
	}
	switch {
	case err == nil:
		g.Lines = p.Access.And(access.Make(g.Lines...))
		return g, nil
	case ctx.Err() != nil:
		return Grant{}, ctx.Err()
	case err == ErrNotGranted: //nolint:errorlint // one that is wrapped says more
		return Grant{}, ungranted(p, "asks for access that nobody has granted; grant it to the plugin")
	default:
		return Grant{}, fault(FaultGrant, p, "%w", err)
	}
}

// key is the same for grants that allow the same.
func (g Grant) key() string { return g.Lines.Hash() + " " + strings.Join(g.Destinations, " ") }
