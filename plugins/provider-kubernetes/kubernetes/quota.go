package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// quota says which ResourceQuota of the namespace has too little left for what is wanted; empty =
// none, or the user may not read them.
func (c cluster) quota(ctx context.Context, wanted sdk.OfferQuery, o options) (string, error) {
	quotas, _, err := all[resourceQuota](ctx, c, call{doing: "listing the quotas", path: c.core("resourcequotas")})
	if unreadable(err) || is(err, 404) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, q := range quotas {
		if text := q.lacks(wanted, o); text != "" {
			return fmt.Sprintf("the quota %s of the namespace %s has too little left: %s", q.Metadata.Name, c.namespace, text), nil
		}
	}
	return "", nil
}

// lacks says what of the quota is used up, if the quota counts the pod.
func (q resourceQuota) lacks(asked sdk.OfferQuery, o options) string {
	wanted := wish(asked, o)
	if !q.counts(wanted, o) {
		return ""
	}
	hard, used := amountsOf(q.Status.Hard), amountsOf(q.Status.Used)
	var short []string
	for name, n := range wanted {
		for _, counted := range []string{name, "requests." + name, "limits." + name, "count/" + name} {
			if most, limited := hard[counted]; limited && n > 0 && used[counted]+n > most+1e-9 {
				short = append(short, fmt.Sprintf("%s of %s %s used", q.Status.Used[counted], q.Status.Hard[counted], counted))
			}
		}
	}
	slices.Sort(short)
	return strings.Join(short, ", ")
}

// counts reports whether the scopes of the quota contain the pod. A pod of Seer has a deadline, so
// it is Terminating.
func (q resourceQuota) counts(wanted amounts, o options) bool {
	terms := slices.Clone(q.Spec.ScopeSelector.MatchExpressions)
	for _, scope := range q.Spec.Scopes {
		terms = append(terms, scopeTerm{ScopeName: scope, Operator: "Exists"})
	}
	for _, term := range terms {
		within := false
		switch term.ScopeName {
		case "Terminating":
			within = true
		case "BestEffort":
			within = wanted["cpu"]+wanted["memory"] == 0
		case "NotBestEffort":
			within = wanted["cpu"]+wanted["memory"] > 0
		case "PriorityClass":
			within = term.has(o.PriorityClass)
		}
		if !within {
			return false
		}
	}
	return true
}

// has reports whether a value is one that the term selects. The empty value is that of a pod which
// names none.
func (t scopeTerm) has(value string) bool {
	switch t.Operator {
	case "In":
		return slices.Contains(t.Values, value)
	case "NotIn":
		return !slices.Contains(t.Values, value)
	case "DoesNotExist":
		return value == ""
	}
	return value != ""
}
