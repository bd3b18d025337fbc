package sdktest

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// need is what checks build upon: without it, they could only fail for the same reason
// again.
type need string

const (
	needDescribe need = "describe"
	needOffers   need = "offers"
	needMachine  need = "machine"
	needModel    need = "model"
)

// needsOf says what a check of a provider builds upon.
func needsOf(name string) []need {
	group, _, _ := strings.Cut(name, "/")
	switch {
	case name == "describe/answers", name == "offers/sorted":
		return nil
	case group == "describe", group == "check":
		return []need{needDescribe}
	case group == "offers":
		return []need{needOffers}
	case name == "create/gives-machine":
		return []need{needOffers}
	case name == "create/unsupported", name == "snapshot/once", name == "clean/spares":
		return []need{needDescribe, needOffers, needMachine}
	}
	return []need{needOffers, needMachine}
}

// maxStuck is how often machines may not be ended before no more are rented.
const maxStuck = 2

// inTurn leaves a check out whose foundation another one has found to be missing.
func (l *lab) inTurn(c Check, needs []need) func(context.Context, *trial) {
	return func(ctx context.Context, t *trial) {
		for _, n := range needs {
			if by := l.lacking[n]; by != "" {
				t.skipf("%s failed, upon which this builds; mend that first", by)
				return
			}
		}
		if l.stuck.Load() >= maxStuck {
			t.skipf("machines of earlier checks could not be ended, so that no more are rented; mend that first")
			return
		}
		t.do(ctx, l, c)
		if err := l.unoffered; err != nil {
			l.unoffered = nil
			t.failf("nothing can be rented: %v", err)
			t.lack(needOffers)
		}
		for _, n := range t.lacks {
			if l.lacking[n] == "" {
				l.lacking[n] = c.Name
			}
		}
		if len(t.fails) > 0 {
			l.explain(t)
		}
	}
}

// do runs a check, and ends the machines of its owners even if it panics.
func (t *trial) do(ctx context.Context, l *lab, c Check) {
	defer func() {
		for _, owner := range t.owners {
			l.end(ctx, t, owner)
		}
	}()
	c.run(ctx, t)
}

// explain says what to do where the backend has never taken the credential.
func (l *lab) explain(t *trial) {
	if l.explained {
		return
	}
	var refused *Request
	for _, r := range l.world.Requests() {
		switch {
		case r.Status > 0 && r.Status < 400:
			return
		case refused == nil && (r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden):
			refused = &r
		}
	}
	if refused == nil {
		return
	}
	l.explained = true
	what := fmt.Sprintf("the simulator refused the credential (%s %s: %d)", refused.Method, refused.URL, refused.Status)
	names := strings.Join(slices.Sorted(maps.Keys(l.kit.Headers)), ", ")
	switch {
	case l.ownKey:
		t.failf(`%s: go test does not read the manifest, and the kit sends "Authorization: Bearer" and something secret; for another header or scheme, set Headers: http.Header{"X-Your-Key": {"some text"}} in the kit`, what)
	case names != "":
		t.failf("%s: the kit sends the Headers %s; set them to what the simulator takes", what, names)
	default:
		t.failf("%s: Seer adds what secrets of plugin.yaml bind to a header, with values of the kit's own; the simulator is given them in their variables", what)
	}
}
