// Package schemagen makes the JSON Schemas of package sdk/schema from the Go types of
// package sdk. `go test ./internal/schemagen -update` writes them.
package schemagen

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/schema"
)

// export is a function of a contract.
type export struct {
	name          string
	input, result any // nil = an object without fields
}

func exports() []export {
	return []export{
		{sdk.ExportProviderDescribe, nil, sdk.ProviderInfo{}},
		{sdk.ExportProviderOffers, sdk.OfferQuery{}, []sdk.Offer{}},
		{sdk.ExportProviderCreate, sdk.CreateInput{}, sdk.CreateStep{}},
		{sdk.ExportProviderObserve, sdk.ObserveInput{}, []sdk.Observation{}},
		{sdk.ExportProviderList, sdk.ListInput{}, []sdk.Listed{}},
		{sdk.ExportProviderTerminate, sdk.TerminateInput{}, nil},
		{sdk.ExportProviderSnapshot, sdk.SnapshotInput{}, sdk.SnapshotStep{}},
		{sdk.ExportProviderAccount, nil, sdk.Account{}},
		{sdk.ExportProviderRoute, sdk.RouteInput{}, sdk.Route{}},
		{sdk.ExportProviderCheck, sdk.CheckQuery{}, []sdk.Finding{}},
		{sdk.ExportProviderClean, sdk.CleanInput{}, []sdk.Cleaned{}},
		{sdk.ExportFetcherResolve, sdk.ModelRef{}, sdk.ResolvedModel{}},
		{sdk.ExportFetcherLocate, sdk.FileRef{}, sdk.Location{}},
		{sdk.ExportExpose, sdk.ExposeRequest{}, sdk.Surface{}},
	}
}

// further are types that no export names.
func further() []any {
	return []any{sdk.Envelope{}, sdk.Needs{}, sdk.SelfEnd{}, sdk.FolderInput{}, sdk.FolderEntry{},
		sdk.HTTPOpen{}, sdk.GRPCOpen{}, sdk.SSHOpen{}, sdk.KubeOpen{}, sdk.KubeContextsInput{}, sdk.KubeContexts{}, sdk.Opened{}, sdk.Event{}}
}

// closed are the string types whose values are all known. An unknown feature is
// ignored and an unknown state waited for, so those are open.
func closed() []string { return []string{"Code", "EventKind", "FileKind", "ParamKind", "Stock"} }

type generator struct {
	source    source
	reflector jsonschema.Reflector
	defs      map[string]json.RawMessage
}

func newGenerator(sdkDir string, open bool) (*generator, error) {
	src, err := readSource(sdkDir)
	if err != nil {
		return nil, err
	}
	g := &generator{source: src, defs: map[string]json.RawMessage{}}
	g.reflector = jsonschema.Reflector{
		Anonymous: true, AllowAdditionalProperties: open, LookupComment: src.comment, Mapper: g.special,
	}
	return g, nil
}

// special are types whose JSON does not follow from their Go.
func (g *generator) special(t reflect.Type) *jsonschema.Schema {
	if t == reflect.TypeFor[json.RawMessage]() {
		return jsonschema.TrueSchema
	}
	if t.Kind() != reflect.String || t.PkgPath() == "" {
		return nil
	}
	s := &jsonschema.Schema{Type: "string", Description: g.source.comments[t.Name()]}
	for _, v := range g.source.values[t.Name()] {
		if slices.Contains(closed(), t.Name()) {
			s.Enum = append(s.Enum, v)
		} else {
			s.Examples = append(s.Examples, v)
		}
	}
	return s
}

// Contract is the schema of everything that crosses the boundary.
func Contract(sdkDir string) ([]byte, error) {
	g, err := newGenerator(sdkDir, true)
	if err != nil {
		return nil, err
	}
	for _, e := range exports() {
		for suffix, v := range map[string]any{".input": e.input, ".result": e.result} {
			if err := g.add(e.name+suffix, v); err != nil {
				return nil, err
			}
		}
	}
	for _, v := range further() {
		if err := g.add("", v); err != nil {
			return nil, err
		}
	}
	return write(map[string]any{
		"$schema": jsonschema.Version, "$id": schema.ContractURL, "title": "Seer's plugin contract, version 1", "$defs": g.defs,
	})
}

// Manifest is the schema of plugin.yaml.
func Manifest(sdkDir string) ([]byte, error) {
	g, err := newGenerator(sdkDir, false)
	if err != nil {
		return nil, err
	}
	if err := g.add("", sdk.Manifest{}); err != nil {
		return nil, err
	}
	return write(map[string]any{
		"$schema": jsonschema.Version, "$id": schema.ManifestURL, "title": "plugin.yaml", "$ref": "#/$defs/Manifest", "$defs": g.defs,
	})
}

// add puts the definitions of a type into the document, and under name a reference to it.
func (g *generator) add(name string, v any) error {
	if v == nil {
		g.defs[name] = json.RawMessage(`{"type":"object"}`)
		return nil
	}
	s := g.reflector.ReflectFromType(reflect.TypeOf(v))
	for key, def := range s.Definitions {
		nullable(def)
		data, err := json.Marshal(def)
		if err != nil {
			return err
		}
		g.defs[key] = data
	}
	if name == "" {
		return nil
	}
	s.Definitions, s.Version = nil, ""
	if s.Type == "array" { // an empty list may be null
		s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
	}
	data, err := json.Marshal(s)
	g.defs[name] = data
	return err
}

// nullable lets a list or map be null: Go writes null for an empty one, and takes it for one.
func nullable(s *jsonschema.Schema) {
	if s.Properties == nil {
		return
	}
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		v := p.Value
		list := v.Type == "array" || v.Type == "object" && v.AdditionalProperties != nil
		if list {
			text := v.Description
			v.Description = ""
			p.Value = &jsonschema.Schema{Description: text, AnyOf: []*jsonschema.Schema{v, {Type: "null"}}}
		}
	}
}

func write(document map[string]any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(document)
	return []byte(strings.TrimSpace(b.String()) + "\n"), err
}
