package fakerunpod

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

//go:embed schemas.json
var schemaText []byte

// maxBody is far more than the kernel would take as one argument.
const maxBody = 4 << 20

// schemas are the bodies of requests, by the name of their definition.
type schemas map[string]*jsonschema.Schema

func newSchemas() (schemas, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaText))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	// A name without a scheme would be taken as a file in the present folder.
	const name = "seer:bodies"
	if err := c.AddResource(name, doc); err != nil {
		return nil, err
	}
	all := schemas{}
	for _, body := range []string{
		"createPod", "updatePod", "podAction", "createVolume", "updateVolume",
		"createTemplate", "updateTemplate", "createRegistry", "sshKeys",
	} {
		if all[body], err = c.Compile(name + "#/$defs/" + body); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// decode reads a body strictly into v.
func (s schemas) decode(r *http.Request, definition string, v any) error {
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return err
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return problemf(http.StatusBadRequest, "the request body is not JSON: %v", err)
	}
	if err := s[definition].Validate(body); err != nil {
		return invalid(err)
	}
	if err := json.Unmarshal(data, v); err != nil { // 1e1 is an integer, but not to Go
		return problemf(http.StatusBadRequest, "the request body could not be read: %v", err)
	}
	return nil
}

// invalid says what is wrong in RunPod's form: one line for each failure.
func invalid(err error) error {
	p := problemf(http.StatusUnprocessableEntity, "Request validation failed.")
	var failed *jsonschema.ValidationError
	if !errors.As(err, &failed) {
		return err
	}
	p.Errors = leaves(failed.DetailedOutput())
	return p
}

func leaves(unit *jsonschema.OutputUnit) []string {
	var lines []string
	for i := range unit.Errors {
		lines = append(lines, leaves(&unit.Errors[i])...)
	}
	if len(lines) > 0 || unit.Error == nil {
		return lines
	}
	at, text := unit.InstanceLocation, unit.Error.String()
	if _, closed := unit.Error.Kind.(*kind.FalseSchema); closed { // by unevaluatedProperties
		i := strings.LastIndex(at, "/")
		at, text = at[:i], fmt.Sprintf("additional properties '%s' not allowed", at[i+1:])
	}
	return []string{"$" + strings.ReplaceAll(at, "/", ".") + ": " + text}
}
