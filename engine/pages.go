package engine

import (
	"context"
	"fmt"
	"net/url"
)

// Page is what a browser opens of a sandbox, at whatever way leads to its port.
type Page struct {
	Port     int    // in the sandbox
	Path     string // with the query that lets a browser in: keep it to yourself
	Password string // that it asks for; empty = none
}

// Page is that of "jupyter" (execution_mode: notebook) or "code" (debug: true), also where
// the provider leads to no such port: see [Sandbox.DialPort]. A sandbox that has none is
// refused with [KindUnsupported], and so is another name.
func (s *Sandbox) Page(ctx context.Context, name string) (Page, error) {
	_, note, err := s.sessionOf(ctx)
	switch {
	case err != nil:
		return Page{}, err
	case name == "jupyter" && note.Jupyter != nil:
		at, err := url.Parse(s.notebookAddress(*note.Jupyter).Full())
		if err != nil {
			return Page{}, as(KindInternal, err)
		}
		return Page{Port: note.Jupyter.Port, Path: at.RequestURI()}, nil
	case name == "jupyter":
		_, err := s.JupyterURL(ctx) // says why
		return Page{}, err
	case name == "code" && note.CodeServer != nil:
		return Page{Port: note.CodeServer.Port, Path: note.CodeServer.path(), Password: note.CodeServer.Secret}, nil
	case name == "code":
		_, _, err := s.CodeServerURL(ctx)
		return Page{}, err
	}
	return Page{}, &Error{Kind: KindUnsupported, Err: fmt.Errorf("%q is no page of a sandbox; there are jupyter and code", name)}
}
