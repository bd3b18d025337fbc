package rpc

import (
	"encoding/json"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/inventory"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/sdk"
)

// Version is that of this protocol. A client that asks for another one is refused.
const Version = 1

// InitializeParams are the first message of a client.
type InitializeParams struct {
	Protocol int    `json:"protocol" jsonschema:"version that the client speaks"`
	Client   string `json:"client,omitempty" jsonschema:"name and version of the client, for logs"`
}

// InitializeResult tells the client whom it speaks to.
type InitializeResult struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version" jsonschema:"of the program"`
}

// CancelParams name a request that is to end.
type CancelParams struct {
	Request string `json:"request" jsonschema:"ID of the request, as JSON"`
}

// StartParams say which sandbox is made.
type StartParams struct {
	Experiment json.RawMessage `json:"experiment,omitempty" jsonschema:"an object with the fields of an experiment file"`
	File       string          `json:"file,omitempty" jsonschema:"absolute path of an experiment file, in the place of experiment"`
	Dir        string          `json:"dir" jsonschema:"absolute folder in which relative paths of the experiment begin"`
	Name       string          `json:"name,omitempty" jsonschema:"another way to find the sandbox"`
	Snapshot   string          `json:"snapshot,omitempty" jsonschema:"name or ID of a snapshot whose files the sandbox starts with"`
	MaxWait    float64         `json:"max_wait,omitempty" jsonschema:"seconds to wait at most while no machine or GPU that fits is free, instead of the experiment's max_wait; 0 = as the experiment says"`
}

// LoadParams name an experiment file.
type LoadParams struct {
	File string `json:"file" jsonschema:"absolute path"`
}

// LoadResult is an experiment that was read.
type LoadResult struct {
	Experiment json.RawMessage `json:"experiment" jsonschema:"in the canonical form, with defaults; relative paths are as written"`
}

// Ref names a sandbox.
type Ref struct {
	Sandbox string `json:"sandbox" jsonschema:"ID, an unambiguous beginning of it, or name"`
}

// ListResult are all sandboxes, the oldest first.
type ListResult struct {
	Sandboxes []inventory.Info `json:"sandboxes"`
}

// DetachParams let a sandbox outlive the client.
type DetachParams struct {
	Sandbox string  `json:"sandbox"`
	Seconds float64 `json:"seconds" jsonschema:"until it ends"`
}

// ExecParams are a command, or code of Python, that is run in a sandbox. Exactly one of argv,
// shell and python is set.
type ExecParams struct {
	Sandbox string            `json:"sandbox"`
	Argv    []string          `json:"argv,omitempty" jsonschema:"program and arguments"`
	Shell   string            `json:"shell,omitempty" jsonschema:"command for sh -c"`
	Python  string            `json:"python,omitempty" jsonschema:"code for a fresh interpreter"`
	Cwd     string            `json:"cwd,omitempty" jsonschema:"default: the working folder"`
	Env     map[string]string `json:"env,omitempty"`
	Stdin   []byte            `json:"stdin,omitempty"`
	Seconds float64           `json:"seconds,omitempty" jsonschema:"after which the command is killed; 0 = never"`
	Limit   int64             `json:"limit,omitempty" jsonschema:"bytes that are kept of each of stdout and stderr; default 10485760, at most 67108864"`
}

// ExecResult is how a command ended. A command that failed is no error.
type ExecResult struct {
	ExitCode  int    `json:"exit_code" jsonschema:"128 and its number for a signal"`
	Stdout    []byte `json:"stdout"`
	Stderr    []byte `json:"stderr"`
	Truncated bool   `json:"truncated" jsonschema:"there was more output than the limit"`
	TimedOut  bool   `json:"timed_out"`
}

// FileParams name a file or folder of a sandbox.
type FileParams struct {
	Sandbox string `json:"sandbox"`
	Path    string `json:"path" jsonschema:"in the sandbox"`
	Content []byte `json:"content,omitempty" jsonschema:"that is written; at most 16 MiB"`
	Mode    uint32 `json:"mode,omitempty" jsonschema:"permissions of a new file; default 0644"`
	Local   string `json:"local,omitempty" jsonschema:"absolute path on this computer that is copied from or to"`
}

// FileResult is the content of a file.
type FileResult struct {
	Content []byte `json:"content"`
}

// ServeParams say which interface is served, and how it is exposed.
type ServeParams struct {
	Sandbox  string         `json:"sandbox"`
	File     string         `json:"file" jsonschema:"absolute path of the interface on this computer"`
	Name     string         `json:"name,omitempty" jsonschema:"default: the stem of the file"`
	ExposeAs string         `json:"expose_as,omitempty" jsonschema:"library, mcp, prompt, skill or a mode of a plugin; default library"`
	Options  map[string]any `json:"options,omitempty" jsonschema:"of the mode"`
	Out      string         `json:"out" jsonschema:"absolute folder for the files that the mode writes"`
}

// ServeResult is what an agent needs to call the functions.
type ServeResult struct {
	Service    string                   `json:"service"`
	Functions  []string                 `json:"functions"`
	Interface  json.RawMessage          `json:"interface" jsonschema:"the functions with their types and texts"`
	Prompt     string                   `json:"prompt" jsonschema:"for the agent"`
	Files      []string                 `json:"files" jsonschema:"absolute paths of what was written"`
	Env        map[string]string        `json:"env,omitempty" jsonschema:"variables that the agent needs"`
	MCPServers map[string]sdk.MCPServer `json:"mcp_servers,omitempty"`
}

// AgentParams say which agent works where.
type AgentParams struct {
	Agent      map[string]any            `json:"agent" jsonschema:"fields of agent in an experiment"`
	Name       string                    `json:"name,omitempty" jsonschema:"of the run; default agent"`
	Dir        string                    `json:"dir" jsonschema:"absolute folder in which the agent works"`
	Base       string                    `json:"base,omitempty" jsonschema:"absolute folder in which relative paths of agent begin, and whose .env may have keys and secrets; default: dir"`
	Runs       string                    `json:"runs,omitempty" jsonschema:"absolute folder in which the run gets a folder of its own; without one, it leaves none"`
	MCPServers map[string]map[string]any `json:"mcp_servers,omitempty" jsonschema:"entries of mcpServers: command, args and env"`
	Env        map[string]string         `json:"env,omitempty"`
	Stream     string                    `json:"stream,omitempty" jsonschema:"a name of the client's for the output, of which 1000 events at most are then sent before it acknowledges some"`
}

// AgentResult is how an agent ended. One that failed is no error.
type AgentResult struct {
	ExitCode  int     `json:"exit_code" jsonschema:"128 and its number for a signal"`
	Reason    string  `json:"reason,omitempty" jsonschema:"of the end of its turn, as in the event agent.turn_ended; empty = a program that Seer does not understand"`
	ModelCost float64 `json:"model_usd" jsonschema:"cost of its language model, as measured"`
	Folder    string  `json:"folder,omitempty" jsonschema:"of the run"`
}

// AcknowledgeParams say how much output was used.
type AcknowledgeParams struct {
	Stream string `json:"stream"`
	Lines  int    `json:"lines" jsonschema:"events of the kind output since the last acknowledgement"`
}

// SaveParams say how a snapshot is made.
type SaveParams struct {
	Sandbox     string `json:"sandbox"`
	Name        string `json:"name" jsonschema:"unique on this computer"`
	Description string `json:"description,omitempty"`
	Memory      bool   `json:"memory,omitempty" jsonschema:"with the processes; isolation gvisor only"`
}

// SaveResult names a snapshot.
type SaveResult struct {
	Name string `json:"name"`
	ID   string `json:"id"`
}

// ForkParams say how often a sandbox is copied.
type ForkParams struct {
	Sandbox string `json:"sandbox"`
	Copies  int    `json:"copies"`
	Name    string `json:"name,omitempty" jsonschema:"of the copies, followed by -1, -2 and so on"`
}

// SessionParams say which session is made.
type SessionParams struct {
	Sandbox   string    `json:"sandbox,omitempty" jsonschema:"without one, the session is local"`
	Kind      string    `json:"kind,omitempty" jsonschema:"notebook, cli or local; default: the one that fits the sandbox"`
	Name      string    `json:"name,omitempty" jsonschema:"unique in the sandbox; default: one is made"`
	Dir       string    `json:"dir,omitempty" jsonschema:"absolute folder of the agent's program, which is made and filled"`
	Workspace Workspace `json:"workspace"`
}

// Workspace is what a session brings. Paths are absolute, on this computer.
type Workspace struct {
	Libraries          []Library `json:"libraries,omitempty"`
	Skills             []string  `json:"skills,omitempty" jsonschema:"skill folders"`
	SkillDirs          []string  `json:"skill_dirs,omitempty" jsonschema:"folders of skill folders"`
	Files              []string  `json:"files,omitempty" jsonschema:"files and folders"`
	Dirs               []string  `json:"dirs,omitempty" jsonschema:"folders"`
	Init               string    `json:"init,omitempty" jsonschema:"Python that runs in each kernel or interpreter"`
	PreloadModels      *bool     `json:"preload_models,omitempty" jsonschema:"default true"`
	HiddenModelLoading *bool     `json:"hidden_model_loading,omitempty" jsonschema:"default true"`
}

// Library is a module that an agent imports.
type Library struct {
	Source string `json:"source,omitempty" jsonschema:"file, directory, skill or code; default: what path is"`
	Path   string `json:"path,omitempty"`
	Name   string `json:"name,omitempty" jsonschema:"of the module; default: that of path"`
	Code   string `json:"code,omitempty"`
	Docs   string `json:"docs,omitempty" jsonschema:"for the agent; default: what the code says"`
}

// SessionRef names a session.
type SessionRef struct {
	Sandbox string `json:"sandbox"`
	Name    string `json:"name"`
}

// Progress is the notification "event": what happens during a request.
type Progress struct {
	Request string      `json:"request" jsonschema:"ID of the request, as JSON"`
	Event   event.Event `json:"event"`
	Kind    event.Kind  `json:"kind" jsonschema:"step, done, warning, output or copied, as in the list of events"`
	Text    string      `json:"text" jsonschema:"the event as a sentence; empty for those that only count"`
}

// ErrorData is the data of an error.
type ErrorData struct {
	Kind     string          `json:"kind" jsonschema:"as in the exit codes of the program, such as config or not_found"`
	Remedies []remedy.Remedy `json:"remedies,omitempty" jsonschema:"what helps, for programs"`
	Problems []Problem       `json:"problems,omitempty" jsonschema:"all mistakes of an experiment"`
}

// Problem is a mistake of an experiment.
type Problem struct {
	File    string `json:"file,omitempty" jsonschema:"of the experiment; empty where the experiment came in the message"`
	Line    int    `json:"line,omitempty" jsonschema:"in file, from 1; 0: the mistake is in no line"`
	Path    string `json:"path" jsonschema:"of the field, such as sandbox.models.0.name"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// None is the result of what only succeeds.
type None struct{}
