package rpc

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/newsession"
	"github.com/seer-engine/seer/engine/workspace"
)

// newSession makes a session in a sandbox; without one it fills the folder of an agent.
func (s *Server) newSession(ctx context.Context, p SessionParams) (newsession.Opened, error) {
	contents, err := p.Workspace.load()
	if err != nil {
		return newsession.Opened{}, err
	}
	o := newsession.Options{
		Name: p.Name, Kind: workspace.Kind(p.Kind), Contents: contents, Dir: p.Dir, Seer: s.Program, Progress: s.progress(ctx),
	}
	if p.Sandbox == "" {
		return s.localSession(ctx, o)
	}
	b, err := s.sandbox(ctx, p.Sandbox)
	if err != nil {
		return newsession.Opened{}, err
	}
	living, stop := b.WithLifetime(ctx)
	defer stop()
	made, err := b.NewSession(living, o)
	if err == nil && ctx.Err() != nil { // the client has cancelled, and will not hear of it
		return made, errors.Join(b.EndSession(context.WithoutCancel(ctx), made.Name), ctx.Err())
	}
	if err == nil {
		s.mu.Lock()
		s.sessions[b.ID()] = append(s.sessions[b.ID()], made.Name)
		s.mu.Unlock()
	}
	if cause := context.Cause(living); err != nil && cause != nil && ctx.Err() == nil {
		err = cause // the machine is lost
	}
	return made, err
}

func (s *Server) localSession(ctx context.Context, o newsession.Options) (newsession.Opened, error) {
	switch {
	case o.Kind != "" && o.Kind != workspace.Local:
		return newsession.Opened{}, refuse(engine.KindConfig, "a %s session needs a sandbox", o.Kind)
	case o.Dir == "":
		return newsession.Opened{}, refuse(engine.KindConfig, "a local session needs a folder")
	}
	records, err := s.Engine.SurfaceRecords()
	if err != nil {
		return newsession.Opened{}, err
	}
	return newsession.Local(ctx, o, records)
}

func (s *Server) endSession(ctx context.Context, p SessionRef) (None, error) {
	b, err := s.sandbox(ctx, p.Sandbox)
	if err != nil {
		return None{}, err
	}
	s.mu.Lock()
	s.sessions[b.ID()] = slices.DeleteFunc(s.sessions[b.ID()], func(name string) bool { return name == p.Name })
	s.mu.Unlock()
	return None{}, b.EndSession(ctx, p.Name)
}

// load reads everything. The error has all mistakes.
func (w Workspace) load() (workspace.Workspace, error) {
	var mistakes []error
	for _, p := range w.paths() {
		if !filepath.IsAbs(p) {
			mistakes = append(mistakes, fmt.Errorf("the path %q of the workspace is not absolute", p))
		}
	}
	if err := errors.Join(mistakes...); err != nil {
		return workspace.Workspace{}, &engine.Error{Kind: engine.KindConfig, Err: err}
	}
	var libraries []workspace.Library
	for _, l := range w.Libraries {
		library, err := l.load()
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("workspace.libraries: %w", err))
			continue
		}
		libraries = append(libraries, library)
	}
	all, err := workspace.Load(workspace.Sources{
		Skills: w.Skills, SkillDirs: w.SkillDirs, Files: w.Files, Dirs: w.Dirs, Init: w.Init,
		PreloadModels: w.PreloadModels == nil || *w.PreloadModels, HiddenModelLoading: w.HiddenModelLoading == nil || *w.HiddenModelLoading,
	})
	mistakes = append(mistakes, err)
	all.Libraries = libraries
	if err = errors.Join(mistakes...); err == nil {
		err = all.Check()
	}
	if err != nil {
		err = &engine.Error{Kind: engine.KindConfig, Err: err}
	}
	return all, err
}

func (w Workspace) paths() (all []string) {
	for _, l := range w.Libraries {
		if l.Source != "code" {
			all = append(all, l.Path)
		}
	}
	for _, list := range [][]string{w.Skills, w.SkillDirs, w.Files, w.Dirs} {
		all = append(all, list...)
	}
	return all
}

func (l Library) load() (made workspace.Library, err error) {
	switch l.Source {
	case "":
		made, err = workspace.LoadLibrary(l.Path)
	case "file":
		made, err = workspace.LibraryFromFile(l.Path, l.Name)
	case "directory":
		made, err = workspace.LibraryFromFolder(l.Path, l.Name)
	case "skill":
		made, err = workspace.LibraryFromSkill(l.Path)
	case "code":
		made, err = workspace.LibraryFromCode(l.Name, l.Code)
	default:
		return made, fmt.Errorf("a library cannot be made from %q; there are file, directory, skill and code", l.Source)
	}
	if l.Docs != "" {
		made.Docs = l.Docs
	}
	return made, err
}
