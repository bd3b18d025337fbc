package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// find selects by kind and provided name; the first in order of search wins.
func (h *Host) find(ctx context.Context, kind sdk.Kind, name string) (Plugin, error) {
	plugins, errs := h.scan(ctx)
	if err := ctx.Err(); err != nil {
		return Plugin{}, err
	}
	var have []string
	for _, p := range plugins {
		if !implements(p.Manifest, kind) {
			continue
		}
		for _, provided := range p.Manifest.Provides {
			if provided == name {
				if err := h.blocked(errs, p); err != nil {
					return p, err
				}
				return h.usable(ctx, p)
			}
			have = append(have, provided)
		}
	}
	return Plugin{}, h.notFound(kind, name, have, errs)
}

// usable is p if it is granted, or else what this program has loaded of the file before somebody
// replaced it, if that is granted still. An upgrade of Seer replaces files under programs that run,
// and these have to end what they have rented.
func (h *Host) usable(ctx context.Context, p Plugin) (Plugin, error) {
	_, err := h.granted(ctx, p)
	if err == nil {
		return p, nil
	}
	if last := h.lastOf(p.File); last != nil && last.plugin.Digest != p.Digest {
		if _, refused := h.granted(ctx, last.plugin); refused == nil {
			return last.plugin, nil
		}
	}
	return p, err
}

// blocked refuses to use p when a place searched earlier could not be read: what
// the user put there was meant to win.
func (h *Host) blocked(errs []error, p Plugin) error {
	for _, err := range errs {
		var e *Error
		if !errors.As(err, &e) {
			continue
		}
		missing := e.Fault == FaultFolder
		shadowed := e.Plugin == p.Manifest.ID && e.Fault != FaultDuplicate
		if missing || shadowed {
			return err
		}
	}
	return nil
}

func (h *Host) notFound(kind sdk.Kind, name string, have []string, errs []error) error {
	what := map[sdk.Kind]string{sdk.KindProvider: "provider", sdk.KindFetcher: "model source", sdk.KindExpose: "expose mode"}[kind]
	var b strings.Builder
	fmt.Fprintf(&b, "no plugin has the %s %q; ", what, name)
	if len(have) > 0 {
		fmt.Fprintf(&b, "there are: %s", strings.Join(have, ", "))
	} else {
		fmt.Fprintf(&b, "there is none of that kind in %s", h.searched())
	}
	for _, err := range errs {
		var e *Error
		if errors.As(err, &e) && e.Fault != FaultDuplicate {
			fmt.Fprintf(&b, "; %v", err)
		}
	}
	return &Error{Fault: FaultNotFound, Err: sdk.Errorf(sdk.NotFound, "%s", b.String())}
}

func (h *Host) searched() string {
	if len(h.dirs) == 0 {
		return "no folder, for none was named"
	}
	paths := make([]string, len(h.dirs))
	for i, d := range h.dirs {
		paths[i] = d.path
	}
	return strings.Join(paths, string(os.PathListSeparator))
}
