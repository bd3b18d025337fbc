package folder

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/seer-engine/seer/sdk"
)

type memory struct{ fstest.MapFS }

func (m memory) Digests(names []string) (sums []string, err error) {
	for _, name := range names {
		b, err := m.ReadFile(name)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(b)
		sums = append(sums, hex.EncodeToString(sum[:]))
	}
	return sums, nil
}

func model() memory {
	return memory{fstest.MapFS{
		"config.json":            {Data: []byte("{}")},
		"model.safetensors":      {Data: []byte("weights")},
		"sub/extra.bin":          {Data: []byte("x")},
		".git/objects/pack/a.gz": {Data: []byte("history")},
	}}
}

func fetcher(m FS) Fetcher { return Fetcher{Open: func(string) FS { return m }} }

func resolve(t *testing.T, m FS, ref sdk.ModelRef) sdk.ResolvedModel {
	t.Helper()
	ref.Source, ref.Name = Source, "/models/tiny"
	r, err := fetcher(m).Resolve(context.Background(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func names(r sdk.ResolvedModel) []string {
	var out []string
	for _, f := range r.Files {
		out = append(out, f.Path)
	}
	return out
}

func TestResolve(t *testing.T) {
	r := resolve(t, model(), sdk.ModelRef{})
	if want := []string{"config.json", "model.safetensors", "sub/extra.bin"}; !reflect.DeepEqual(names(r), want) {
		t.Errorf("files = %v, want %v", names(r), want)
	}
	if f := r.Files[1]; f.Size != 7 || len(f.SHA256) != 64 {
		t.Errorf("file = %+v", f)
	}
	if again := resolve(t, model(), sdk.ModelRef{Revision: r.Revision}); again.Revision != r.Revision {
		t.Error("the same content has two revisions")
	}
	changed := model()
	changed.MapFS["model.safetensors"] = &fstest.MapFile{Data: []byte("weightz")}
	if resolve(t, changed, sdk.ModelRef{}).Revision == r.Revision {
		t.Error("changed content kept its revision")
	}
}

func TestResolvePatterns(t *testing.T) {
	for name, tc := range map[string]struct {
		ref  sdk.ModelRef
		want []string
	}{
		"base name": {sdk.ModelRef{Include: []string{"*.bin", "*.json"}}, []string{"config.json", "sub/extra.bin"}},
		"path":      {sdk.ModelRef{Include: []string{"sub/*"}}, []string{"sub/extra.bin"}},
		"deep":      {sdk.ModelRef{Include: []string{"*extra*"}}, []string{"sub/extra.bin"}},
		"folder":    {sdk.ModelRef{Exclude: []string{"sub/"}}, []string{"config.json", "model.safetensors"}},
		"both":      {sdk.ModelRef{Include: []string{"*.json", "*.bin"}, Exclude: []string{"*.bin"}}, []string{"config.json"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := names(resolve(t, model(), tc.ref)); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("files = %v, want %v", got, tc.want)
			}
		})
	}
}

type broken struct {
	memory
	err error
}

func (b broken) ReadDir(name string) ([]fs.DirEntry, error) {
	return nil, &fs.PathError{Op: "readdir", Path: name, Err: b.err}
}

func TestResolveErrors(t *testing.T) {
	pipe := model()
	pipe.MapFS["pipe"] = &fstest.MapFile{Mode: fs.ModeNamedPipe}
	for name, tc := range map[string]struct {
		fs   FS
		ref  sdk.ModelRef
		code sdk.Code
		text string
	}{
		"relative":       {model(), sdk.ModelRef{Name: "tiny"}, sdk.Invalid, "absolute"},
		"empty":          {memory{fstest.MapFS{}}, sdk.ModelRef{Name: "/m"}, sdk.Invalid, "no files"},
		"pipe":           {pipe, sdk.ModelRef{Name: "/m"}, sdk.Invalid, "neither a file"},
		"nothing left":   {model(), sdk.ModelRef{Name: "/m", Include: []string{"["}}, sdk.Invalid, "include and exclude patterns"},
		"other revision": {model(), sdk.ModelRef{Name: "/m", Revision: "sha256-0"}, sdk.NotFound, "is at revision sha256-"},
		"denied":         {broken{model(), sdk.Errorf(sdk.Unauthorized, "not granted")}, sdk.ModelRef{Name: "/m"}, sdk.Unauthorized, "model folder /m: not granted"},
		"other":          {broken{model(), errors.New("odd")}, sdk.ModelRef{Name: "/m"}, sdk.Internal, "odd"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fetcher(tc.fs).Resolve(context.Background(), tc.ref)
			if sdk.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("error %v (%s), want %s with %q", err, sdk.CodeOf(err), tc.code, tc.text)
			}
		})
	}
}

func TestLocate(t *testing.T) {
	f := fetcher(model())
	loc, err := f.Locate(context.Background(), sdk.FileRef{Name: "/my models/é", Path: "sub/a b.bin"})
	if want := "file:///my%20models/%C3%A9/sub/a%20b.bin"; err != nil || loc.URL != want {
		t.Errorf("Locate = %q, %v; want %q", loc.URL, err, want)
	}
	for _, bad := range []string{"", ".", "../x", "/etc/passwd", "a//b"} {
		if _, err := f.Locate(context.Background(), sdk.FileRef{Name: "/m", Path: bad}); sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("Locate(%q): %v", bad, err)
		}
	}
}
