package sdk

import (
	"context"
	"encoding/json"
)

// Exposer turns a served interface into a surface for an agent. It is pure: the same request
// gives the same surface, and it gets no token. If a surface must point at the connection, it
// uses the placeholders below, and the engine replaces them.
type Exposer interface {
	Expose(ctx context.Context, req ExposeRequest) (Surface, error)
}

// Placeholders that the engine replaces in [MCPServer.Command], Args and Env,
// in [Surface.Prompt] and in [Surface.Env].
const (
	PlaceholderConnection = "{{seer.connection}}" // path of the connection file
	PlaceholderSeer       = "{{seer.command}}"    // path of the seer program
	PlaceholderDir        = "{{seer.dir}}"        // folder the surface is written to
)

// ExposeRequest is an interface and how the user wants it exposed.
type ExposeRequest struct {
	Name      string          `json:"name"` // the user's `name:`; a valid Python identifier
	Interface Interface       `json:"interface"`
	Options   json.RawMessage `json:"options,omitempty"`
}

// Surface is what an agent gets.
type Surface struct {
	Files      []SurfaceFile        `json:"files,omitempty"`
	MCPServers map[string]MCPServer `json:"mcp_servers,omitempty"`
	Prompt     string               `json:"prompt,omitempty"` // Markdown
	Env        map[string]string    `json:"env,omitempty"`
}

// FileKind says who writes a file's content.
type FileKind string

// The kinds of [SurfaceFile].
const (
	FileText         FileKind = ""              // Text is the content
	FilePythonClient FileKind = "python_client" // the engine's own client.py
	FileConnection   FileKind = "connection"    // the connection file, with its token, mode 0600
)

// SurfaceFile is one file of a surface. Path is slash-separated, relative and
// without "..".
type SurfaceFile struct {
	Path string   `json:"path"`
	Kind FileKind `json:"kind,omitempty"`
	Text string   `json:"text,omitempty"`
}

// MCPServer is an entry of an `mcpServers` object.
type MCPServer struct {
	Command string            `json:"command"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
}

// Interface describes the functions of a served Python file, as found by
// introspection of the loaded module.
type Interface struct {
	Module    string     `json:"module"`        // the file's stem
	Doc       string     `json:"doc,omitempty"` // the module's docstring
	Functions []Function `json:"functions"`     // in order of definition
	CodeHash  string     `json:"code_hash"`     // "sha256:" + hex of the file
}

// Function is one exposed function.
type Function struct {
	Name         string          `json:"name"`
	Doc          string          `json:"doc,omitempty"`
	Async        bool            `json:"async,omitempty"`
	Stream       bool            `json:"stream,omitempty"`          // a generator: it gives items one after the other; OutputSchema is of one
	Concurrent   int             `json:"concurrent,omitempty"`      // how many may run side by side; 0 = one at a time
	Batch        int             `json:"batch,omitempty"`           // calls that one run may answer; annotations and schemas are of one call
	Timeout      float64         `json:"timeout_seconds,omitempty"` // of every call
	Title        string          `json:"title,omitempty"`
	Hints        Hints           `json:"hints,omitzero"`
	Params       []Param         `json:"params"`
	Returns      string          `json:"returns,omitempty"`       // the annotation as source text
	InputSchema  json.RawMessage `json:"input_schema"`            // JSON Schema 2020-12 of an object, one property for each parameter
	OutputSchema json.RawMessage `json:"output_schema,omitempty"` // of the returned value; absent = unknown
	Line         int             `json:"line,omitempty"`          // 1-based line of the definition
}

// Hints tell an agent what a function does to the world. A missing one is unknown.
type Hints struct {
	ReadOnly    *bool `json:"read_only,omitempty"`   // it changes nothing
	Destructive *bool `json:"destructive,omitempty"` // what it changes may be lost
	Idempotent  *bool `json:"idempotent,omitempty"`  // a second call with the same arguments changes nothing more
	OpenWorld   *bool `json:"open_world,omitempty"`  // it reaches beyond the sandbox
}

// ParamKind is Python's kind of parameter.
type ParamKind string

// The kinds of [Param].
const (
	PositionalOnly      ParamKind = "positional_only"
	PositionalOrKeyword ParamKind = "positional_or_keyword"
	VarPositional       ParamKind = "var_positional" // *args
	KeywordOnly         ParamKind = "keyword_only"
	VarKeyword          ParamKind = "var_keyword" // **kwargs
)

// Param is one parameter of an exposed function.
type Param struct {
	Name        string          `json:"name"`
	Kind        ParamKind       `json:"kind"`
	Annotation  string          `json:"annotation,omitempty"`   // source text
	HasDefault  bool            `json:"has_default,omitempty"`  //
	Default     json.RawMessage `json:"default,omitempty"`      // when it is JSON
	DefaultRepr string          `json:"default_repr,omitempty"` // Python's repr of it
	Doc         string          `json:"doc,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
}
