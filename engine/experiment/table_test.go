package experiment

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// sample is a value that fits the field, as the checker hands it on.
func sample(f Field) any {
	switch f.Kind {
	case KindInt:
		return max(f.Min, 1)
	case KindShare:
		return "4"
	case KindNumber, KindSize:
		return 1.5
	case KindFrees:
		return map[string]any{"A": map[string]any{"B": "x"}}
	case KindBool:
		return true
	case KindDuration:
		return time.Minute
	case KindStrings, KindOneOrAll:
		return []any{"x"}
	case KindInts:
		return []any{1}
	case KindEnv, KindFree:
		return map[string]any{"A": "x"}
	case KindMap:
		return samples(f.Fields)
	case KindMaps, KindPairs:
		return []any{samples(f.Fields)}
	default:
		return "x"
	}
}

func samples(fields []Field) map[string]any {
	out := map[string]any{}
	for _, f := range fields {
		out[f.Key] = sample(f)
	}
	return out
}

// Every field of the table has a place in the input structs, and gets there.
func TestTableAndInputAgree(t *testing.T) {
	in, err := decodeInput(samples(Fields()))
	if err != nil {
		t.Fatal(err)
	}
	unset(t, "input", reflect.ValueOf(in))
}

// unset reports struct fields that no field of the table has filled.
func unset(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		unset(t, path, v.Elem())
	case reflect.Slice:
		if v.Len() == 0 {
			t.Errorf("%s is not in the table", path)
			return
		}
		unset(t, path+"[0]", v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			unset(t, path+"."+v.Type().Field(i).Name, v.Field(i))
		}
	default:
		if !v.IsValid() || v.IsZero() {
			t.Errorf("%s is not in the table", path)
		}
	}
}

func TestTableIsWellFormed(t *testing.T) {
	check := func(path string, f Field) {
		if f.Doc == "" || !strings.HasSuffix(f.Doc, ".") {
			t.Errorf("%s: the description is no sentence: %q", path, f.Doc)
		}
		for what, text := range map[string]string{"default": f.Default, "example": f.Example} {
			if text == "" {
				continue
			}
			s := readSource([]byte(text), "", path)
			c := &checker{marks: s.marks, errs: s.errs}
			c.value(path, s.root, f)
			if len(c.errs) > 0 {
				t.Errorf("%s: the %s does not fit: %v", path, what, c.errs)
			}
		}
	}
	walkFields(Fields(), "", check)
	walkFields(stagedFields(), "staged", check)
}
