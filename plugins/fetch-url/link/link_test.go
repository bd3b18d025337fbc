package link_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/plugins/fetch-url/link"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/guesthttp"
	"github.com/seer-engine/seer/sdk/sdktest"
)

var contents = map[string]string{"model.gguf": "weights", "tiny/config.json": "{}", "tiny/sub/ä #1.txt": "h", "empty": ""}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// sums is the list of the folder tiny. It begins with a letter, as the kit changes numbers.
func sums() string {
	return fmt.Sprintf("%s *sub/ä #1.txt\n%s  ./config.json\n\n", digest("h"), digest("{}"))
}

func server() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := contents[strings.TrimPrefix(r.URL.Path, "/")]
		switch {
		case r.URL.Path == "/tiny/SHA256SUMS":
			text = sums()
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "https://elsewhere.example/x", http.StatusFound)
			return
		case r.URL.Path == "/endless":
			w.(http.Flusher).Flush()
			return
		case !ok:
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		_, _ = io.WriteString(w, text)
	})
}

func TestFiles(t *testing.T) {
	s := httptest.NewTLSServer(server())
	defer s.Close()
	f := link.Fetcher{Sender: guesthttp.Over(s.Client().Transport)}
	for name, want := range map[string][]sdk.ModelFile{
		s.URL + "/model.gguf#sha256=" + digest("weights"): {{Path: "model.gguf", Size: 7, SHA256: digest("weights")}},
		s.URL + "/empty?x=1#sha256=" + digest(""):         {{Path: "empty", Size: 0, SHA256: digest("")}},
		s.URL + "/moved#size=9&sha256=" + digest("moved"): {{Path: "moved", Size: 9, SHA256: digest("moved")}},
		s.URL + "/tiny/SHA256SUMS#sha256=" + digest(sums()): {
			{Path: "config.json", Size: 2, SHA256: digest("{}")}, {Path: "sub/ä #1.txt", Size: 1, SHA256: digest("h")},
		},
	} {
		m, err := f.Resolve(t.Context(), sdk.ModelRef{Source: "url", Name: name})
		if err != nil || !slices.Equal(m.Files, want) || !strings.HasSuffix(name, m.Revision) {
			t.Errorf("%s: %+v, %v", name, m, err)
			continue
		}
		for _, file := range m.Files {
			at, err := f.Locate(t.Context(), sdk.FileRef{Name: m.Name, Revision: m.Revision, Path: file.Path})
			if err != nil {
				t.Fatal(err)
			}
			if file.Path == "moved" {
				continue
			}
			resp, err := s.Client().Get(at.URL)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || digest(string(body)) != file.SHA256 {
				t.Errorf("%s at %s: %.40q, %v", file.Path, at.URL, body, err)
			}
		}
	}
}

func TestMistakes(t *testing.T) {
	s := httptest.NewTLSServer(server())
	defer s.Close()
	f := link.Fetcher{Sender: guesthttp.Over(s.Client().Transport)}
	good := "#sha256=" + digest("weights")
	for name, want := range map[string]struct {
		code sdk.Code
		text string
	}{
		s.URL + "/model.gguf":               {sdk.Invalid, "has no SHA-256"},
		s.URL + "/model.gguf#sha256=12":     {sdk.Invalid, "has no SHA-256"},
		s.URL + "/model.gguf" + good + "&x": {sdk.Invalid, "behind #"},
		s.URL + "/x" + good + "&size=-1":    {sdk.Invalid, "is not a number of bytes"},
		s.URL + "/" + good:                  {sdk.Invalid, "name of a file"},
		"ftp://a.example/x" + good:          {sdk.Invalid, "is not the address of a model"},
		"https://u:p@a.example/x" + good:    {sdk.Invalid, "is not the address of a model"},
		"model.gguf" + good:                 {sdk.Invalid, "is not the address of a model"},
		s.URL + "/missing" + good:           {sdk.NotFound, "does not know it"},
		s.URL + "/moved" + good:             {sdk.Unsupported, "redirects to another address"},
		s.URL + "/endless" + good:           {sdk.Unsupported, "does not say how large"},
		s.URL + "/tiny/SHA256SUMS" + good:   {sdk.Internal, "correct the digest"},
	} {
		_, err := f.Resolve(t.Context(), sdk.ModelRef{Name: name})
		if sdk.CodeOf(err) != want.code || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%s: %v (%s)", name, err, sdk.CodeOf(err))
		}
	}
	if _, err := f.Resolve(t.Context(), sdk.ModelRef{Name: s.URL + "/model.gguf" + good, Revision: "v1"}); sdk.CodeOf(err) != sdk.NotFound {
		t.Errorf("a revision: %v", err)
	}
}

func TestConformance(t *testing.T) {
	const base = "https://models.example/tiny/"
	name := base + "SHA256SUMS#sha256=" + digest(sums())
	sdktest.Fetcher(t, sdktest.FetcherKit{
		Open:  func(c *http.Client) sdk.Fetcher { return link.Fetcher{Sender: guesthttp.Over(c.Transport)} },
		Cloud: server(), Model: sdk.ModelRef{Source: "url", Name: name}, Unknown: base + "none#sha256=" + digest("none"), Quick: true,
	})
}

type answer string

func (a answer) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Length": {"3"}}, Body: io.NopCloser(strings.NewReader(string(a)))}, nil
}

// Whatever a list says, no path leads out of the model.
func FuzzResolve(f *testing.F) {
	f.Add(sums(), "/tiny/SHA256SUMS")
	f.Add(digest("")+"  ../x", "/SHA256SUMS")
	f.Fuzz(func(t *testing.T, list, path string) {
		m, err := link.Fetcher{Sender: guesthttp.Over(answer(list))}.Resolve(t.Context(), sdk.ModelRef{Name: "https://a.example" + path + "#sha256=" + digest(list)})
		if err != nil {
			return
		}
		for _, file := range m.Files {
			if strings.Contains("/"+file.Path+"/", "/../") || strings.HasPrefix(file.Path, "/") {
				t.Errorf("%q", file.Path)
			}
		}
	})
}
