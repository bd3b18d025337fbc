package host

import "errors"

// hideDuplicates lets the first plugin win: by its id, and for each kind by the
// names it provides.
func hideDuplicates(all []found) []found {
	ids := map[string]string{}
	names := map[string]Plugin{}
	for i, f := range all {
		if f.err != nil {
			var e *Error
			if errors.As(f.err, &e) && e.Plugin != "" && ids[e.Plugin] == "" {
				ids[e.Plugin] = e.File
			}
			continue
		}
		id := f.plugin.Manifest.ID
		if first := ids[id]; first != "" {
			all[i].err = fault(FaultDuplicate, f.plugin, "not used: %s was found first", first)
			continue
		}
		ids[id] = f.plugin.File
		if name, first, clash := claim(names, f.plugin); clash {
			all[i].err = fault(FaultDuplicate, f.plugin, "not used: it provides %q, as does %s, which was found first", name, first.File)
		}
	}
	return all
}

func claim(names map[string]Plugin, p Plugin) (string, Plugin, bool) {
	var keys []string
	for _, contract := range p.Manifest.Implements {
		for _, name := range p.Manifest.Provides {
			key := contract + " " + name
			if first, taken := names[key]; taken {
				return name, first, true
			}
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		names[key] = p
	}
	return "", Plugin{}, false
}
