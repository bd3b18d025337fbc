package rpc

import (
	"context"
	"path/filepath"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/experiment"
)

// load reads an experiment file without looking at anything else.
func (s *Server) load(ctx context.Context, p LoadParams) (LoadResult, error) {
	if !filepath.IsAbs(p.File) {
		return LoadResult{}, refuse(engine.KindConfig, "the path %q of the experiment is not absolute", p.File)
	}
	exp, err := experiment.Load(ctx, p.File, experiment.LoadOptions{})
	if err != nil {
		return LoadResult{}, err
	}
	config, err := exp.Config()
	return LoadResult{Experiment: config}, err
}
