package index_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/examples/plugins/fetch-index/index"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/sdktest"
)

func file(path, content string) string {
	sum := sha256.Sum256([]byte(content))
	return fmt.Sprintf(`{"path":%q,"size":%d,"sha256":%q}`, path, len(content), hex.EncodeToString(sum[:]))
}

var tiny = `{"default":"r2","revisions":[{"name":"r1","files":[` + file("a", "1") + `]},{"name":"r2","files":[` +
	file("weights/w.bin", "www") + `,` + file("config.json", "{}") + `,` + file("weights/ä #1.bin", "w") + `]}]}`

func server() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /team/tiny/index.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(tiny)) })
	mux.HandleFunc("GET /bad/{kind}/index.json", func(w http.ResponseWriter, r *http.Request) {
		bad := map[string]string{
			"path": `{"path":"../x","size":1,"sha256":"` + strings.Repeat("0", 64) + `"}`, "sum": `{"path":"x","size":1}`,
			"size": `{"path":"x","size":-1,"sha256":"` + strings.Repeat("0", 64) + `"}`, "none": ``,
		}[r.PathValue("kind")]
		_, _ = w.Write([]byte(`{"default":"r","revisions":[{"name":"r","files":[` + bad + `]}]}`))
	})
	return mux
}

func open(t *testing.T) *index.Fetcher {
	t.Helper()
	s := httptest.NewServer(server())
	t.Cleanup(s.Close)
	f := index.New(s.URL)
	f.API.Transport = http.DefaultTransport
	return f
}

func TestResolve(t *testing.T) {
	f := open(t)
	for _, test := range []struct {
		ref   sdk.ModelRef
		files string
		code  sdk.Code
	}{
		{sdk.ModelRef{Name: "team/tiny"}, "config.json weights/w.bin weights/ä #1.bin", ""},
		{sdk.ModelRef{Name: "team/tiny", Revision: "r1"}, "a", ""},
		{sdk.ModelRef{Name: "team/tiny", Include: []string{"*.bin"}, Exclude: []string{"w.*"}}, "weights/ä #1.bin", ""},
		{sdk.ModelRef{Name: "team/tiny", Exclude: []string{"weights/"}}, "config.json", ""},
		{sdk.ModelRef{Name: "team/tiny", Include: []string{"*.gguf"}}, "", sdk.Invalid},
		{sdk.ModelRef{Name: "team/tiny", Include: []string{"["}}, "", sdk.Invalid},
		{sdk.ModelRef{Name: "team/tiny", Revision: "r9"}, "", sdk.NotFound},
		{sdk.ModelRef{Name: "team/none"}, "", sdk.NotFound},
		{sdk.ModelRef{Name: "../tiny"}, "", sdk.Invalid},
		{sdk.ModelRef{Name: ""}, "", sdk.Invalid},
		{sdk.ModelRef{Name: "bad/path"}, "", sdk.Internal},
		{sdk.ModelRef{Name: "bad/sum"}, "", sdk.Internal},
		{sdk.ModelRef{Name: "bad/size"}, "", sdk.Internal},
		{sdk.ModelRef{Name: "bad/none"}, "", sdk.Invalid},
	} {
		m, err := f.Resolve(t.Context(), test.ref)
		var files []string
		for _, f := range m.Files {
			files = append(files, f.Path)
		}
		if got := strings.Join(files, " "); sdk.CodeOf(err) != test.code || got != test.files {
			t.Errorf("%+v: %q, %v (%s)", test.ref, got, err, sdk.CodeOf(err))
		}
	}
}

func TestLocate(t *testing.T) {
	f := index.New("https://models.example/")
	ref := sdk.FileRef{Name: "team/tiny", Revision: "r2", Path: "weights/ä #1.bin"}
	if l, err := f.Locate(t.Context(), ref); err != nil || l.URL != "https://models.example/team/tiny/r2/weights/%C3%A4%20%231.bin" {
		t.Errorf("%+v, %v", l, err)
	}
	for _, path := range []string{"../x", "/etc/passwd", "", `a\b`} {
		ref.Path = path
		if l, err := f.Locate(t.Context(), ref); sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("%q is at %+v, %v", path, l, err)
		}
	}
}

func TestConformance(t *testing.T) {
	sdktest.Fetcher(t, sdktest.FetcherKit{
		Open: func(c *http.Client) sdk.Fetcher {
			f := index.New("https://models.example")
			f.API.Transport = c.Transport
			return f
		},
		Cloud: server(), Model: sdk.ModelRef{Source: "index", Name: "team/tiny"}, Quick: true,
	})
}

func FuzzResolve(f *testing.F) {
	f.Add(tiny, "team/tiny", "r2", "*.bin")
	f.Fuzz(func(t *testing.T, text, name, revision, pattern string) {
		x := index.New("https://models.example")
		x.API.Transport = answer(text)
		m, err := x.Resolve(t.Context(), sdk.ModelRef{Name: name, Revision: revision, Include: []string{pattern}})
		if err != nil {
			return
		}
		if !slices.IsSortedFunc(m.Files, func(a, b sdk.ModelFile) int { return strings.Compare(a.Path, b.Path) }) || len(m.Files) == 0 || m.Revision == "" {
			t.Errorf("%+v", m)
		}
		for _, file := range m.Files {
			if _, err := x.Locate(t.Context(), sdk.FileRef{Name: m.Name, Revision: m.Revision, Path: file.Path}); err != nil {
				t.Error(err)
			}
		}
		if _, err := json.Marshal(m); err != nil {
			t.Error(err)
		}
	})
}

// answer is a server with one answer.
type answer string

func (a answer) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(a)))}, nil
}
