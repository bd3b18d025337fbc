package engine

import "github.com/seer-engine/seer/engine/models"

// Models manages the models on this computer.
type Models = models.Manager

// Models are the models on this computer, in the cache of the Hub's clients and in the
// engine's own. Progress receives the events of what is done with them.
func (e *Engine) Models(progress Progress) *Models {
	m := *e.models
	m.Report = e.reporter(progress)
	return &m
}
