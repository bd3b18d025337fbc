package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/surface"
)

// serve serves an interface, and writes the files of its mode into the client's folder.
func (s *Server) serve(ctx context.Context, p ServeParams) (ServeResult, error) {
	if !filepath.IsAbs(p.File) || !filepath.IsAbs(p.Out) {
		return ServeResult{}, refuse(engine.KindConfig, "the paths %q and %q must be absolute", p.File, p.Out)
	}
	b, err := s.sandbox(ctx, p.Sandbox)
	if err != nil {
		return ServeResult{}, err
	}
	mode := cmp.Or(p.ExposeAs, "library")
	v, err := b.Serve(ctx, engine.ServeOptions{File: p.File, Name: p.Name, ExposeAs: mode, Progress: s.progress(ctx)})
	if err != nil {
		return ServeResult{}, err
	}
	made, err := v.Expose(ctx, mode, p.Options)
	if err != nil {
		return ServeResult{}, err
	}
	records, err := s.Engine.SurfaceRecords()
	if err != nil {
		return ServeResult{}, err
	}
	written, err := surface.Write(ctx, p.Out, made, surface.Target{Connection: v.Connection(), Seer: s.Program, Records: records})
	if err != nil {
		return ServeResult{}, err
	}
	described, err := json.Marshal(v.Interface())
	result := ServeResult{
		Service: v.Name(), Interface: described, Prompt: written.Prompt, Files: written.Files, Env: written.Env, MCPServers: written.MCPServers,
		Functions: []string{},
	}
	for _, f := range v.Interface().Functions {
		result.Functions = append(result.Functions, f.Name)
	}
	return result, err
}
