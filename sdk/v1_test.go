package sdk_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/seer-engine/seer/sdk"
)

// The files in testdata/v1 hold every type of contract version 1 with all its fields. They
// are never changed: what plugins and hosts write today must be read, and written again,
// for as long as there is a version 1. A field that is added gets a file of its own, with a
// name that sorts behind: provider.2.json.

func TestVectorsV1(t *testing.T) {
	seen := map[string]bool{}
	for _, kind := range types() {
		for file, vectors := range vectors(t) {
			if raw, ok := vectors[kind.Name()]; ok {
				seen[file+kind.Name()] = true
				roundTrip(t, file, kind, raw)
			}
		}
	}
	for file, vectors := range vectors(t) {
		for name := range vectors {
			if !seen[file+name] {
				t.Errorf("%s: there is no type %s any more", file, name)
			}
		}
	}
}

// Every field is in a vector, also one that was added yesterday.
func TestVectorsV1Complete(t *testing.T) {
	for _, kind := range types() {
		used := map[string]bool{}
		for _, vectors := range vectors(t) {
			if raw, ok := vectors[kind.Name()]; ok {
				v := reflect.New(kind)
				if err := json.Unmarshal(raw, v.Interface()); err != nil {
					t.Fatal(err)
				}
				collect(v.Elem(), used)
			}
		}
		missing(t, kind, used)
	}
}

// types are those that cross the boundary by themselves; others are inside them.
func types() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[sdk.ProviderInfo](), reflect.TypeFor[sdk.OfferQuery](), reflect.TypeFor[sdk.Offer](), reflect.TypeFor[sdk.CreateInput](),
		reflect.TypeFor[sdk.CreateStep](), reflect.TypeFor[sdk.SnapshotInput](), reflect.TypeFor[sdk.SnapshotStep](), reflect.TypeFor[sdk.ObserveInput](),
		reflect.TypeFor[sdk.Observation](), reflect.TypeFor[sdk.ListInput](), reflect.TypeFor[sdk.Listed](), reflect.TypeFor[sdk.TerminateInput](),
		reflect.TypeFor[sdk.SelfEnd](), reflect.TypeFor[sdk.RouteInput](), reflect.TypeFor[sdk.Route](), reflect.TypeFor[sdk.Account](),
		reflect.TypeFor[sdk.CheckQuery](), reflect.TypeFor[sdk.Finding](), reflect.TypeFor[sdk.CleanInput](), reflect.TypeFor[sdk.Cleaned](),
		reflect.TypeFor[sdk.ModelRef](), reflect.TypeFor[sdk.ResolvedModel](), reflect.TypeFor[sdk.FileRef](),
		reflect.TypeFor[sdk.Location](), reflect.TypeFor[sdk.ExposeRequest](), reflect.TypeFor[sdk.Surface](), reflect.TypeFor[sdk.Envelope](),
		reflect.TypeFor[sdk.HTTPOpen](), reflect.TypeFor[sdk.GRPCOpen](), reflect.TypeFor[sdk.SSHOpen](), reflect.TypeFor[sdk.KubeOpen](), reflect.TypeFor[sdk.KubeContextsInput](), reflect.TypeFor[sdk.KubeContexts](), reflect.TypeFor[sdk.Opened](), reflect.TypeFor[sdk.Event](),
		reflect.TypeFor[sdk.FolderInput](), reflect.TypeFor[sdk.FolderEntry](), reflect.TypeFor[sdk.Needs](), reflect.TypeFor[sdk.Manifest](),
	}
}

// vectors are the files: type → value.
func vectors(t *testing.T) map[string]map[string]json.RawMessage {
	t.Helper()
	files, err := filepath.Glob("testdata/v1/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	all := map[string]map[string]json.RawMessage{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]json.RawMessage
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[file] = v
	}
	return all
}

// roundTrip reads a vector and writes it again: nothing may be lost, or change its name.
func roundTrip(t *testing.T, file string, kind reflect.Type, raw json.RawMessage) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	v := reflect.New(kind)
	if err := d.Decode(v.Interface()); err != nil {
		t.Errorf("%s: %s: %v", file, kind.Name(), err)
		return
	}
	again, err := json.Marshal(v.Interface())
	if err != nil {
		t.Fatal(err)
	}
	if want, got := canonical(t, raw), canonical(t, again); want != got {
		t.Errorf("%s: %s is\n%s\nand was\n%s", file, kind.Name(), got, want)
	}
}

// canonical is JSON with its keys sorted and all digits.
func canonical(t *testing.T, raw []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func fieldName(t reflect.Type, f reflect.StructField) string {
	return fmt.Sprint(t.Name(), ".", f.Name)
}

// collect notes the fields that have a value.
func collect(v reflect.Value, used map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			collect(v.Elem(), used)
		}
	case reflect.Slice:
		for i := range v.Len() {
			collect(v.Index(i), used)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			collect(v.MapIndex(key), used)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsZero() {
				used[fieldName(v.Type(), v.Type().Field(i))] = true
				collect(f, used)
			}
		}
	}
}

// missing reports the fields, of types of this package, that no vector has.
func missing(t *testing.T, kind reflect.Type, used map[string]bool) {
	t.Helper()
	for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice || kind.Kind() == reflect.Map {
		kind = kind.Elem()
	}
	if kind.Kind() != reflect.Struct || !strings.HasSuffix(kind.PkgPath(), "/sdk") {
		return
	}
	for i := range kind.NumField() {
		f := kind.Field(i)
		if name := fieldName(kind, f); !used[name] {
			t.Errorf("no file in testdata/v1 has %s", name)
		}
		missing(t, f.Type, used)
	}
}
