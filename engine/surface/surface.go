// Package surface writes what an expose mode made (files, MCP servers, prompt,
// variables) to a folder and fills in what only the engine knows: the connection,
// its client and the paths.
package surface

import (
	"context"
	"encoding/json"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/python"
	"github.com/seer-engine/seer/sdk"
)

// Target says where a surface goes and what it connects to.
type Target struct {
	Connection client.Connection
	Seer       string // path of the seer program as the agent sees it
	Inside     string // Dir as the agent sees it; empty = Dir itself
	Records    Records
	PromptFile string // where the prompt goes, in the folder; empty = nowhere

	overwrite bool // for tests: files of others are replaced
}

// Written is a surface with everything filled in.
type Written struct {
	Files      []string                 `json:"files"` // absolute, in the order of the surface
	MCPServers map[string]sdk.MCPServer `json:"mcp_servers,omitempty"`
	Prompt     string                   `json:"prompt,omitempty"`
	Env        map[string]string        `json:"env,omitempty"`
}

// Write puts the files of s below dir, which it makes, and returns the rest with
// its placeholders filled in. Each file appears whole or not at all. A file that is
// there already is replaced only if Target.Records says that Seer wrote it and it has not
// changed since; otherwise nothing is written, and the error is an [*InTheWayError]. A
// path that would leave dir, by its name or through a symbolic link, is refused before
// anything is written.
func Write(ctx context.Context, dir string, s sdk.Surface, t Target) (Written, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Written{}, err
	}
	if err := check(s); err != nil {
		return Written{}, err
	}
	fill, err := filler(dir, s, t)
	if err != nil {
		return Written{}, err
	}
	w := Written{Prompt: fill(s.Prompt), Env: fillMap(fill, s.Env), MCPServers: map[string]sdk.MCPServer{}}
	for name, server := range s.MCPServers {
		w.MCPServers[name] = sdk.MCPServer{Command: fill(server.Command), Args: fillAll(fill, server.Args), Env: fillMap(fill, server.Env)}
	}
	all, err := contents(s, t, w.Prompt)
	if err != nil {
		return Written{}, err
	}
	if err := writeAll(ctx, dir, all, t); err != nil {
		return Written{}, err
	}
	for _, f := range all {
		w.Files = append(w.Files, filepath.Join(dir, filepath.FromSlash(f.name)))
	}
	return w, nil
}

// check refuses a surface whose paths are not plain relative ones.
func check(s sdk.Surface) error {
	seen := map[string]bool{}
	for _, f := range s.Files {
		switch {
		case !fs.ValidPath(f.Path) || f.Path == "." || strings.ContainsAny(f.Path, "\\\x00"):
			return sdk.Errorf(sdk.Internal, "the expose mode made a file with the path %q, which is not a plain relative path", f.Path)
		case seen[f.Path]:
			return sdk.Errorf(sdk.Internal, "the expose mode made the file %q twice", f.Path)
		}
		seen[f.Path] = true
		switch f.Kind {
		case sdk.FileText, sdk.FilePythonClient, sdk.FileConnection:
		default:
			return sdk.Errorf(sdk.Unsupported, "the expose mode made the file %q of the kind %q, which this version does not know", f.Path, f.Kind)
		}
	}
	return nil
}

// contents are all files of a surface, with the prompt's.
func contents(s sdk.Surface, t Target, prompt string) (all []file, err error) {
	for _, f := range s.Files {
		made := file{name: f.Path, data: []byte(f.Text), mode: 0o644}
		switch f.Kind {
		case sdk.FilePythonClient:
			made.data = python.Client()
		case sdk.FileConnection:
			data, err := json.MarshalIndent(t.Connection, "", "  ")
			if err != nil {
				return nil, err
			}
			made.data, made.mode = append(data, '\n'), 0o600
		}
		all = append(all, made)
	}
	if t.PromptFile != "" && prompt != "" {
		all = append(all, file{name: t.PromptFile, data: []byte(strings.TrimRight(prompt, "\n") + "\n"), mode: 0o644})
	}
	return all, nil
}

// filler replaces the placeholders. A surface that points at a connection file
// must have made one.
func filler(dir string, s sdk.Surface, t Target) (func(string) string, error) {
	inside := t.Inside
	if inside == "" {
		inside = dir
	}
	connection := ""
	for _, f := range s.Files {
		if f.Kind == sdk.FileConnection && connection == "" {
			connection = path.Join(filepath.ToSlash(inside), f.Path)
		}
	}
	if connection == "" && uses(s, sdk.PlaceholderConnection) {
		return nil, sdk.Errorf(sdk.Internal, "the expose mode refers to %s but made no file of the kind %q", sdk.PlaceholderConnection, sdk.FileConnection)
	}
	if t.Seer == "" && uses(s, sdk.PlaceholderSeer) {
		return nil, sdk.Errorf(sdk.Invalid, "this surface starts the seer program, and its path is not known here; give it in the target")
	}
	r := strings.NewReplacer(sdk.PlaceholderConnection, connection, sdk.PlaceholderSeer, t.Seer, sdk.PlaceholderDir, inside)
	return r.Replace, nil
}

func uses(s sdk.Surface, placeholder string) bool {
	// HTML escaping would hide nothing here, but braces must stay as they are.
	data, _ := json.Marshal([]any{s.MCPServers, s.Prompt, s.Env})
	return strings.Contains(string(data), placeholder)
}

func fillAll(fill func(string) string, in []string) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = fill(s)
	}
	return out
}

func fillMap(fill func(string) string, in map[string]string) map[string]string {
	out := make(map[string]string, len(in))
	for k, v := range in {
		out[k] = fill(v)
	}
	return out
}
