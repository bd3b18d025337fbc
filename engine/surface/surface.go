// Package surface writes what an expose mode made (files, MCP servers, prompt,
// variables) to a folder and fills in what only the engine knows: the connection,
// its client and the paths.
package surface

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/python"
	"github.com/seer-engine/seer/sdk"
)

// Target says where a surface goes and what it connects to.
type Target struct {
	Connection protocol.Connection
	Seer       string // path of the seer program as the agent sees it
	Inside     string // Dir as the agent sees it; empty = Dir itself
}

// Written is a surface with everything filled in.
type Written struct {
	Files      []string                 `json:"files"` // absolute, in the order of the surface
	MCPServers map[string]sdk.MCPServer `json:"mcp_servers,omitempty"`
	Prompt     string                   `json:"prompt,omitempty"`
	Env        map[string]string        `json:"env,omitempty"`
}

// Write puts the files of s below dir, which it makes, and returns the rest with
// its placeholders filled in. Each file appears whole or not at all; one that is
// there already is replaced. A path that would leave dir, by its name or through
// a symbolic link, is refused before anything is written.
func Write(dir string, s sdk.Surface, t Target) (Written, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Written{}, err
	}
	if err := check(s); err != nil {
		return Written{}, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Written{}, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Written{}, err
	}
	defer root.Close()

	w := Written{MCPServers: map[string]sdk.MCPServer{}, Env: map[string]string{}}
	for _, f := range s.Files {
		data, mode, err := content(f, t.Connection)
		if err != nil {
			return Written{}, err
		}
		if err := writeFile(root, f.Path, data, mode); err != nil {
			return Written{}, fmt.Errorf("write %s: %w", filepath.Join(dir, f.Path), err)
		}
		w.Files = append(w.Files, filepath.Join(dir, filepath.FromSlash(f.Path)))
	}
	fill, err := filler(dir, s, t)
	if err != nil {
		return Written{}, err
	}
	for name, server := range s.MCPServers {
		w.MCPServers[name] = sdk.MCPServer{Command: fill(server.Command), Args: fillAll(fill, server.Args), Env: fillMap(fill, server.Env)}
	}
	w.Prompt, w.Env = fill(s.Prompt), fillMap(fill, s.Env)
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

func content(f sdk.SurfaceFile, c protocol.Connection) ([]byte, fs.FileMode, error) {
	switch f.Kind {
	case sdk.FilePythonClient:
		return python.Client(), 0o644, nil
	case sdk.FileConnection:
		data, err := json.MarshalIndent(c, "", "  ")
		return append(data, '\n'), 0o600, err
	default:
		return []byte(f.Text), 0o644, nil
	}
}

// writeFile replaces a file atomically, so that an agent that imports it while an
// interface is served again sees the old one or the new one.
func writeFile(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	tmp := name + ".seer-tmp"
	_ = root.Remove(tmp)
	f, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = root.Rename(tmp, name)
	}
	if err != nil {
		_ = root.Remove(tmp)
	}
	return err
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
