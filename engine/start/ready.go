package start

import "github.com/seer-engine/seer/engine/readiness"

// Ready asks providers what stands in the way of their machines.
func (s *Starter) Ready() readiness.Checker {
	return readiness.Checker{Provider: s.Plugins.Provider, Identity: s.Plugins.Identity, Store: s.Store, Now: s.Now}
}
