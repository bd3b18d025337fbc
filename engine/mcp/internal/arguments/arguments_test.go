package arguments_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/mcp/internal/arguments"
)

var runSchema = json.RawMessage(`{"type": "object", "required": ["code"], "properties": {
	"code": {"type": "string"}, "session_id": {"type": "string"}, "timeout": {"type": "number"}, "background": {"type": "boolean"}}}`)

type runArguments struct {
	Code       string   `json:"code"`
	Session    string   `json:"session_id"`
	Timeout    *float64 `json:"timeout"`
	Background bool     `json:"background"`
}

// What is wrong is said so that a model does it right the next time.
func TestArgumentsThatDoNotFit(t *testing.T) {
	for given, want := range map[string]string{
		`{"cell": "1"}`:                        "there is no argument `cell`; did you mean `code`? It takes `code`, `background`, `session_id`, `timeout`",
		`{"code": "1", "session": "s"}`:        "there is no argument `session`; did you mean `session_id`?",
		`{"code": "1", "sessionId": "s"}`:      "did you mean `session_id`?",
		`{"code": "1", "timeuot": 1}`:          "did you mean `timeout`?",
		`{"code": "1", "timeout_seconds": 1}`:  "did you mean `timeout`?",
		`{"code": "1", "zzz": 1}`:              "there is no argument `zzz`; it takes `code`,",
		`{"a": 1, "b": 2}`:                     "there is no argument `a`, `b`; it takes `code`,",
		`{}`:                                   "the argument code is missing; it takes `code`,",
		``:                                     "the argument code is missing",
		`null`:                                 "the argument code is missing",
		`{"code": 1}`:                          "`code` must be a string, and is the JSON value number",
		`{"code": "1", "timeout": "30"}`:       "`timeout` must be a number, and is the JSON value string",
		`{"code": "1", "background": "maybe"}`: "`background` must be true or false",
		`[1]`:                                  "not a JSON object",
		`{"code": "1"} {}`:                     "more than one object",
	} {
		var in runArguments
		if err := arguments.Strict(runSchema, json.RawMessage(given), &in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", given, err, want)
		}
	}
}

// A name that is near to another argument may well be the one that has to be there, and
// what is wrong in a map or a list is not the whole of it.
func TestArgumentsOfACommandThatDoNotFit(t *testing.T) {
	schema := json.RawMessage(`{"type": "object", "required": ["command"], "properties": {"command": {"type": "string"},
		"cwd": {"type": "string"}, "env": {"type": "object"}, "names": {"type": "array"}}}`)
	for given, want := range map[string]string{
		`{"cmd": "ls"}`:                     "there is no argument `cmd`; did you mean `command`, which is missing, or `cwd`?",
		`{"comand": "ls"}`:                  "did you mean `command`?",
		`{"command": "ls", "cmd": "x"}`:     "did you mean `cwd`?",
		`{"command": "ls", "env": {"a":1}}`: "each value of `env` must be a string, and one is the JSON value number",
		`{"command": "ls", "env": "a=1"}`:   "`env` must be an object, and is the JSON value string",
		`{"command": "ls", "names": [1]}`:   "each item of `names` must be a string, and one is the JSON value number",
		`{"command": "ls", "names": "a"}`:   "`names` must be a list, and is the JSON value string",
	} {
		var in struct {
			Command string            `json:"command"`
			Cwd     string            `json:"cwd"`
			Env     map[string]string `json:"env"`
			Names   []string          `json:"names"`
		}
		if err := arguments.Strict(schema, json.RawMessage(given), &in); err == nil || !strings.Contains(err.Error(), want) || strings.HasPrefix(want, "`") && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", given, err, want)
		}
	}
}

func TestArgumentsThatFit(t *testing.T) {
	var in runArguments
	err := arguments.Strict(runSchema, json.RawMessage(` {"code": "1", "timeout": 2.5, "background": true} `), &in)
	if err != nil || in.Code != "1" || *in.Timeout != 2.5 || !in.Background {
		t.Errorf("%+v, %v", in, err)
	}
	if err := arguments.Strict(map[string]any{"type": "object"}, nil, &struct{}{}); err != nil {
		t.Errorf("a tool without arguments: %v", err)
	}
}

func TestAnArgumentUnderAnotherName(t *testing.T) {
	for given, want := range map[string]string{
		`{"source": "1", "timeout": 2}`:    `{"code":"1","timeout":2}`,
		`{"content": "\u003c", "x": 1.50}`: `{"code":"\u003c","x":1.50}`,
		`{"code": "1", "source": "2"}`:     `{"code": "1", "source": "2"}`, // which is meant?
		`{"source": "1", "content": "2"}`:  `{"source": "1", "content": "2"}`,
		`{"code": "1"}`:                    `{"code": "1"}`,
		`{"source": "1"} {}`:               `{"source": "1"} {}`,
		`[1]`:                              `[1]`,
		``:                                 ``,
	} {
		if got := string(arguments.Renamed(runSchema, json.RawMessage(given), "code", "source", "content")); got != want {
			t.Errorf("%s: %s", given, got)
		}
	}
	both := json.RawMessage(`{"type": "object", "properties": {"code": {}, "source": {}}}`)
	if got := string(arguments.Renamed(both, json.RawMessage(`{"content": "1"}`), "code", "source", "content")); got != `{"content": "1"}` {
		t.Errorf("a tool that has two of them: %s", got)
	}
}

func FuzzStrict(f *testing.F) {
	for _, seed := range []string{`{"code": "1"}`, `{"cell": 1}`, `{"code": {}}`, `[`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		var in runArguments
		_ = arguments.Strict(runSchema, arguments.Renamed(runSchema, data, "code", "source"), &in)
	})
}
