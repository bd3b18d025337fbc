// Package prompt is the expose mode that tells an agent in Markdown what the
// served functions are and how to call them from a shell.
package prompt

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seer-engine/seer/plugins/internal/options"
	"github.com/seer-engine/seer/plugins/internal/python"
	"github.com/seer-engine/seer/plugins/internal/shell"
	"github.com/seer-engine/seer/sdk"
)

// Mode implements [sdk.Exposer].
type Mode struct{}

// Expose makes the same text twice: as the prompt, with the paths filled in, and
// as <name>.md beside the connection file.
func (Mode) Expose(_ context.Context, req sdk.ExposeRequest) (sdk.Surface, error) {
	if err := options.None("prompt", req.Options); err != nil {
		return sdk.Surface{}, err
	}
	if req.Name == "" || strings.ContainsAny(req.Name, "/\\\x00") {
		return sdk.Surface{}, sdk.Errorf(sdk.Invalid, "%q cannot be the name of a file; choose another `name:`", req.Name)
	}
	connection := req.Name + ".connection.json"
	return sdk.Surface{
		Files: []sdk.SurfaceFile{
			{Path: connection, Kind: sdk.FileConnection},
			{Path: req.Name + ".md", Text: document(req, how{seer: "seer", connection: quote(connection)})},
		},
		Prompt: document(req, how{seer: `"` + sdk.PlaceholderSeer + `"`, connection: `"` + sdk.PlaceholderConnection + `"`}),
	}, nil
}

// how is the spelling of the command line, quoted for a shell.
type how struct{ seer, connection string }

func document(req sdk.ExposeRequest, h how) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", req.Name)
	if doc := python.CleanDoc(req.Interface.Doc); doc != "" {
		fmt.Fprintf(&b, "%s\n\n", doc)
	}
	b.WriteString("These Python functions run in a sandbox. State that they keep stays between calls.\n\n")
	calling(&b, req, h)
	return b.String() + Functions(req.Interface.Functions)
}

// Functions documents each function: signature, documentation, schemas.
func Functions(all []sdk.Function) string {
	var b strings.Builder
	for _, f := range all {
		function(&b, f)
	}
	return b.String()
}

// calling explains both ways to call with the first function that there is.
func calling(b *strings.Builder, req sdk.ExposeRequest, h how) {
	if len(req.Interface.Functions) == 0 {
		return
	}
	f := req.Interface.Functions[0]
	args := example(f)
	fmt.Fprintf(b, "## How to call\n\n```sh\n%s call --connection %s %s", h.seer, h.connection, f.Name)
	for _, a := range args {
		fmt.Fprintf(b, " %s", quote(a.name+"="+a.text))
	}
	fmt.Fprintf(b, "\n```\n\nValues are JSON, or plain text where that is not JSON. All arguments at once: `--args '{\"name\": value}'`. ")
	b.WriteString("The result is printed as JSON; a failure gives the function's error and a non-zero exit code. ")
	if slices.ContainsFunc(req.Interface.Functions, func(f sdk.Function) bool { return f.Stream }) {
		b.WriteString("A generator's items are printed as they come. ")
	}
	if slices.ContainsFunc(req.Interface.Functions, python.GivesMuch) {
		b.WriteString("With `--handle` a large result stays in the sandbox and its handle is printed; `name=@handle:ID` gives it as an argument, and `--out FILE.npy` writes an array to a file. ")
	}
	fmt.Fprintf(b, "With `--detach`, a call continues by itself and prints its name; `%s calls wait --connection %s NAME` then gives its answer.\n\n", h.seer, h.connection)
	body, _ := json.Marshal(map[string]any{"kwargs": object(args)}) // strings and raw JSON always marshal
	fmt.Fprintf(b, `Without that program, take `+"`endpoint`, `service` and `token`"+` from the connection file:

`+"```sh"+`
curl -sS -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
  -d %s "$ENDPOINT/v1/services/$SERVICE/call/%s"
`+"```"+`

For an endpoint `+"`unix:PATH`"+` use `+"`--unix-socket PATH`"+` and `+"`http://seer`"+` as `+"`$ENDPOINT`"+`. `+
		"The answer is `{\"result\": …}` or `{\"error\": {\"type\", \"message\", \"traceback\"}}`. "+
		"Arguments without a name go into `\"args\": […]`.\n\n", quote(string(body)), f.Name)
}

func function(b *strings.Builder, f sdk.Function) {
	fmt.Fprintf(b, "## %s\n\n```python\n", f.Name)
	if f.Async {
		b.WriteString("async ")
	}
	fmt.Fprintf(b, "def %s%s\n```\n\n", f.Name, python.Signature(python.Params(f.Params, nil), f.Returns, python.Shown))
	if doc := python.CleanDoc(f.Doc); doc != "" {
		fmt.Fprintf(b, "%s\n\n", doc)
	}
	schema(b, "Arguments", f.InputSchema)
	schema(b, "Result", f.OutputSchema)
}

func schema(b *strings.Builder, title string, raw json.RawMessage) {
	if s := bytes.TrimSpace(raw); len(s) == 0 || string(s) == "null" || string(s) == "{}" {
		return
	}
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return
	}
	text := strings.ReplaceAll(compact.String(), "`", `\u0060`) // the same JSON, without ending the code span
	fmt.Fprintf(b, "%s (JSON Schema): `%s`\n\n", title, text)
}

// argument is one of an example call.
type argument struct {
	name string
	text string // as typed in a shell
	json json.RawMessage
}

// example gives the required arguments a value of about the right kind.
func example(f sdk.Function) []argument {
	var out []argument
	for _, p := range f.Params {
		named := p.Kind == sdk.PositionalOrKeyword || p.Kind == sdk.KeywordOnly
		if named && !p.HasDefault {
			a := argument{name: p.Name, json: sample(p)}
			a.text = string(a.json)
			var s string
			if json.Unmarshal(a.json, &s) == nil {
				a.text = s
			}
			out = append(out, a)
		}
	}
	return out
}

func sample(p sdk.Param) json.RawMessage {
	var s struct {
		Type json.RawMessage `json:"type"`
	}
	_ = json.Unmarshal(p.Schema, &s) // no schema or an odd one: text
	samples := map[string]string{`"integer"`: `1`, `"number"`: `1.5`, `"boolean"`: `true`, `"array"`: `[]`, `"object"`: `{}`, `"null"`: `null`}
	if text, ok := samples[string(s.Type)]; ok {
		return json.RawMessage(text)
	}
	return json.RawMessage(`"text"`)
}

func object(args []argument) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for _, a := range args {
		out[a.name] = a.json
	}
	return out
}

// quote makes one word of s for a shell.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./=:", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return shell.Quote(s)
}
