package doctor

import (
	"sync"

	"github.com/seer-engine/seer/engine/agent/profile"
	"github.com/seer-engine/seer/engine/paths"
)

// Key is the key that [Check] gives to programs. No language model accepts it.
const Key = "seer-doctor-made-up-key"

// LookupEnv wraps next, such as [os.LookupEnv]: each variable that a profile names for a key has
// the value [Key].
func LookupEnv(next func(string) (string, bool)) func(string) (string, bool) {
	keys := sync.OnceValue(func() map[string]bool { return keysOf(next) })
	return func(name string) (string, bool) {
		if keys()[name] {
			return Key, true
		}
		return next(name)
	}
}

func keysOf(lookup func(string) (string, bool)) map[string]bool {
	keys := map[string]bool{}
	getenv := func(name string) string { v, _ := lookup(name); return v }
	found, err := paths.New(paths.Options{Getenv: getenv})
	if err != nil {
		return keys // engine.New fails in the same way
	}
	for _, name := range profile.Names(found.Profiles()...) {
		p, err := profile.Load(name, found.Profiles()...)
		if err != nil {
			continue // a finding of Check
		}
		for _, key := range p.Keys {
			keys[key] = true
		}
	}
	return keys
}
