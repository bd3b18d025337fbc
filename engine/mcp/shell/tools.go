package shell

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/internal/arguments"
	"github.com/seer-engine/seer/engine/mcp/internal/reply"
)

const instructions = `You have a whole sandbox, a separate machine. Relative paths begin at its working folder. ` +
	`run_command runs lines of bash. run_python runs code in an interpreter that keeps its variables and has everything that was loaded for you, such as models. ` +
	`Work that takes long continues after its tool has answered with "state": "running"; wait_process waits for it. ` +
	`Output above 16 KiB is truncated in the middle, with a marker; process_output has all of it.`

// hints of a tool.
type hints int

const (
	reads   hints = iota // changes nothing
	changes              // may take something away
	adds                 // may change things, takes nothing away
)

func (h hints) annotations(title string, open bool) *mcp.ToolAnnotations {
	yes, no := true, false
	a := &mcp.ToolAnnotations{Title: title, OpenWorldHint: &no, DestructiveHint: &no}
	if open {
		a.OpenWorldHint = &yes
	}
	switch h {
	case reads:
		a.ReadOnlyHint, a.IdempotentHint = true, true
	case changes:
		a.DestructiveHint = &yes
	}
	return a
}

// add adds a tool whose arguments are read strictly into a struct.
func add[A any](s *server, name, title, doc, properties string, required []string, a *mcp.ToolAnnotations, f func(context.Context, *mcp.CallToolRequest, A) *mcp.CallToolResult) {
	schema, _ := json.Marshal(map[string]any{ // plain data
		"type": "object", "properties": json.RawMessage(properties), "required": append([]string{}, required...), "additionalProperties": false,
	})
	a.Title = title
	s.mcp.AddTool(&mcp.Tool{Name: name, Title: title, Description: doc, InputSchema: json.RawMessage(schema), Annotations: a},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var args A
			if err := arguments.Strict(json.RawMessage(schema), req.Params.Arguments, &args); err != nil {
				return reply.BadArguments(name, err), nil
			}
			return f(ctx, req, args), nil
		})
}

const commandProperties = `{
 "command": {"type": "string", "description": "lines of bash"},
 "cwd": {"type": "string", "description": "folder to run it in; default: the working folder"},
 "timeout": {"type": "number", "description": "seconds to wait for the end; it continues after that. Default: as long as the client waits"},
 "end_after": {"type": "number", "description": "seconds after which it is killed; default: never"},
 "env": {"type": "object", "additionalProperties": {"type": "string"}, "description": "further variables"},
 "background": {"type": "boolean", "description": "answer at once and let it run"}
}`

const startProperties = `{
 "command": {"type": "string", "description": "lines of bash"},
 "name": {"type": "string", "description": "to find it again in list_processes"},
 "cwd": {"type": "string"},
 "end_after": {"type": "number", "description": "seconds after which it is killed; default: never"},
 "env": {"type": "object", "additionalProperties": {"type": "string"}}
}`

func (s *server) addTools() {
	add(s, "run_command", "Run a command",
		"Runs lines of bash in the sandbox and returns exit_code, stdout and stderr. Each call is a new shell: cd and variables do not last. "+
			"A command that takes long answers with state running and a process_id, and continues.",
		commandProperties, []string{"command"}, changes.annotations("", true), s.runCommand)
	add(s, "run_python", "Run Python",
		"Runs Python in an interpreter that keeps variables, imports and models from call to call. Returns the output, and as result the value of the last expression; "+
			"images and figures are shown, also by display(x). restart: true begins with a new interpreter: all variables are lost.",
		`{"code": {"type": "string"}, "timeout": {"type": "number", "description": "seconds to wait for the end; it continues after that. Default: as long as the client waits"}, "end_after": {"type": "number", "description": "seconds after which it is interrupted; default: never"}, "restart": {"type": "boolean"}, "background": {"type": "boolean", "description": "answer at once and let it run"}}`,
		nil, changes.annotations("", true), s.runPython)
	s.addProcessTools()
	s.addFileTools()
}

func (s *server) addProcessTools() {
	add(s, "start_process", "Start a process", "Starts lines of bash that run in the background, such as a server or a training, and answers at once with a process_id.",
		startProperties, []string{"command"}, adds.annotations("", true), s.startProcess)
	add(s, "list_processes", "List processes", "Lists the processes that were started here, also those that have ended within an hour.",
		`{}`, nil, reads.annotations("", false), s.listProcesses)
	add(s, "wait_process", "Wait for a process", "Waits for a running process or Python code and returns its result, or its state if it takes longer.",
		`{"process_id": {"type": "string"}, "timeout": {"type": "number", "description": "seconds to wait for the end; it continues after that. Default: as long as the client waits"}}`, []string{"process_id"}, reads.annotations("", false), s.waitProcess)
	add(s, "process_output", "Read the output of a process", "Reads the output of a process: its end, or from an offset on. Continue at next_offset; offset 0 is the beginning.",
		`{"process_id": {"type": "string"}, "offset": {"type": "integer", "minimum": 0}, "limit": {"type": "integer", "minimum": 1, "description": "bytes; default 16384, at most 102400"}}`,
		[]string{"process_id"}, reads.annotations("", false), s.processOutput)
	add(s, "stop_process", "Stop a process", "Ends a process and everything that it has started: asks it to end, and kills it after 5 seconds. Python code is interrupted; its variables stay.",
		`{"process_id": {"type": "string"}, "force": {"type": "boolean", "description": "kill at once"}}`, []string{"process_id"}, changes.annotations("", false), s.stopProcess)
	add(s, "usage", "What the sandbox uses", "Shows how much CPU, memory, disk and GPU the sandbox uses and has.", `{}`, nil, reads.annotations("", false), s.usage)
}

func (s *server) addFileTools() {
	add(s, "read_file", "Read a file", "Reads a text by lines (offset counts from 1; 2000 lines and 100 KiB at once), an image as such, anything else as base64 (offset counts bytes).",
		`{"path": {"type": "string"}, "offset": {"type": "integer", "minimum": 0}, "limit": {"type": "integer", "minimum": 1, "description": "lines, or bytes"}}`,
		[]string{"path"}, reads.annotations("", false), s.readFile)
	add(s, "write_file", "Write a file", "Writes a whole file, up to 16 MiB, and makes its folders. To replace a file that has changed since you read it, set overwrite: true.",
		`{"path": {"type": "string"}, "content": {"type": "string"}, "base64": {"type": "string", "description": "instead of content, for binary data"}, "mode": {"type": "string", "description": "octal, such as 755; default: as it was, or 644"}, "overwrite": {"type": "boolean"}}`,
		[]string{"path"}, changes.annotations("", false), s.writeFile)
	add(s, "edit_file", "Edit a file", "Replaces text in a file. old must occur exactly once, character by character; with all: true, any number of times.",
		`{"path": {"type": "string"}, "old": {"type": "string"}, "new": {"type": "string"}, "all": {"type": "boolean"}}`,
		[]string{"path", "old", "new"}, changes.annotations("", false), s.editFile)
	add(s, "list_files", "List files", "Lists a folder, up to 1000 entries; symbolic links are not followed. glob matches names (*.py) or, with a slash, paths below the folder (src/*.py, src/**/*.py); a glob with a slash or ** also searches folders below.",
		`{"path": {"type": "string", "description": "default: the working folder"}, "recursive": {"type": "boolean", "description": "also list folders below; a glob with a slash or ** does so anyway"}, "glob": {"type": "string", "description": "such as *.py, src/*.py, **/*.py; ** is any number of folders"}}`,
		nil, reads.annotations("", false), s.listFiles)
	if s.files == nil {
		return
	}
	add(s, "upload", "Upload", "Copies a file or folder from the user's folder "+s.opts.Files+" into the sandbox, of any size.",
		`{"from": {"type": "string", "description": "path in that folder"}, "path": {"type": "string", "description": "where it goes in the sandbox"}}`,
		[]string{"from", "path"}, changes.annotations("", false), s.upload)
	add(s, "download", "Download", "Copies a file or folder out of the sandbox into the user's folder "+s.opts.Files+", of any size.",
		`{"path": {"type": "string", "description": "in the sandbox"}, "to": {"type": "string", "description": "path in that folder"}}`,
		[]string{"path", "to"}, changes.annotations("", false), s.download)
}

func (s *server) usage(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) *mcp.CallToolResult {
	c, err := s.get()
	if err != nil {
		return reply.Failure(err)
	}
	u, err := c.Usage(ctx)
	if err != nil {
		return reply.Failure(explain(err))
	}
	return reply.Answer(u)
}
