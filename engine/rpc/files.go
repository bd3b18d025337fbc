package rpc

import (
	"cmp"
	"context"
	"io/fs"
)

func (s *Server) read(ctx context.Context, p FileParams) (FileResult, error) {
	b, err := s.sandbox(ctx, p.Sandbox)
	if err != nil {
		return FileResult{}, err
	}
	content, err := b.ReadFile(ctx, p.Path)
	return FileResult{Content: content}, err
}

func (s *Server) write(ctx context.Context, p FileParams) (None, error) {
	b, err := s.sandbox(ctx, p.Sandbox)
	if err != nil {
		return None{}, err
	}
	return None{}, b.WriteFile(ctx, p.Path, p.Content, fs.FileMode(cmp.Or(p.Mode, 0o644)))
}

func (s *Server) mkdir(ctx context.Context, p FileParams) (None, error) {
	b, err := s.sandbox(ctx, p.Sandbox)
	if err != nil {
		return None{}, err
	}
	return None{}, b.EnsureDir(ctx, p.Path)
}

func (s *Server) upload(ctx context.Context, p FileParams) (None, error) {
	b, err := s.sandbox(ctx, p.Sandbox)
	if err != nil {
		return None{}, err
	}
	return None{}, b.Upload(ctx, p.Local, p.Path)
}

func (s *Server) download(ctx context.Context, p FileParams) (None, error) {
	b, err := s.sandbox(ctx, p.Sandbox)
	if err != nil {
		return None{}, err
	}
	return None{}, b.Download(ctx, p.Path, p.Local)
}
