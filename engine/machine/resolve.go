package machine

import "strings"

// Resolve finds the sandbox that a user means: its whole ID, its name, or an
// unambiguous beginning of its ID with or without "sb-". Live sandboxes come
// before ended ones.
func (l *Ledger) Resolve(ref string) (Record, error) {
	all, err := l.List()
	if r, ok := exact(all, ref); ok {
		return r, nil
	}
	for _, live := range []bool{true, false} {
		found := beginning(all, ref, live)
		switch len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			return Record{}, &AmbiguousError{Ref: ref, Candidates: labels(found)}
		}
	}
	if err != nil { // it may be the one that cannot be read
		return Record{}, err
	}
	return Record{}, &NotFoundError{Ref: ref, Near: near(all, ref)}
}

// exact prefers an ID, then the name of a live sandbox, then the latest ended one
// of that name.
func exact(all []Record, ref string) (Record, bool) {
	if ref == "" {
		return Record{}, false
	}
	best := -1
	for i := range all {
		switch {
		case all[i].ID == ref:
			return all[i], true
		case all[i].Name == ref && (best < 0 || all[i].Live() || !all[best].Live()):
			best = i
		}
	}
	if best < 0 {
		return Record{}, false
	}
	return all[best], true
}

func beginning(all []Record, ref string, live bool) []Record {
	var found []Record
	start := strings.TrimPrefix(strings.ToLower(ref), "sb-")
	if start == "" {
		return nil
	}
	for _, r := range all {
		if r.Live() == live && strings.HasPrefix(r.ID, "sb-"+start) {
			found = append(found, r)
		}
	}
	return found
}

// near lists the live sandboxes whose name or ID begins alike.
func near(all []Record, ref string) []string {
	var found []Record
	for _, r := range all {
		if !r.Live() || ref == "" {
			continue
		}
		first := strings.ToLower(ref[:1])
		if strings.HasPrefix(strings.ToLower(r.Name), first) || strings.HasPrefix(r.ID, "sb-"+first) {
			found = append(found, r)
		}
	}
	return labels(found)
}

func labels(records []Record) []string {
	out := make([]string, len(records))
	for i, r := range records {
		out[i] = r.ID
		if r.Name != "" {
			out[i] += " (" + r.Name + ")"
		}
	}
	return out
}
