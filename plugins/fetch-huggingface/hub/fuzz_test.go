package hub_test

import (
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/plugins/fetch-huggingface/hub"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/guesthttp"
)

// scripted answers requests one after the other, the last answer again and again.
type scripted struct {
	link, location string
	bodies         []string
}

func (s *scripted) RoundTrip(*http.Request) (*http.Response, error) {
	body := s.bodies[0]
	if len(s.bodies) > 1 {
		s.bodies = s.bodies[1:]
	}
	status := http.StatusOK
	header := http.Header{}
	if s.link != "" {
		header.Set("Link", s.link)
		s.link = "" // of one page
	}
	if s.location != "" {
		header.Set("Location", s.location)
		status, s.location = http.StatusFound, ""
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// Whatever a hub answers, a fetcher's answer is sorted and pinned, or it is an error.
func FuzzResolve(f *testing.F) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	f.Add(`{"id":"org/name","sha":"`+commit+`","gated":false}`, `[{"type":"file","oid":"a","size":1,"path":"x"}]`, `<https://hub.example/api/next>; rel="next"`, "", "*.bin")
	f.Add(`{"sha":7}`, `{}`, `<`, "/elsewhere", "[a-")
	f.Add(`{"sha":"`+commit+`","gated":"auto","cardData":{"license":["a"]}}`, `[]`, `rel="next"`, "https://other.example", "[!]]")
	f.Fuzz(func(t *testing.T, about, tree, link, location, pattern string) {
		x := hub.New("https://hub.example", guesthttp.Over(&scripted{link, location, []string{about, tree}}))
		m, err := x.Resolve(t.Context(), sdk.ModelRef{Name: "org/name", Include: []string{pattern}})
		if err != nil {
			return
		}
		if len(m.Revision) != 40 || len(m.Files) == 0 || !slices.IsSortedFunc(m.Files, func(a, b sdk.ModelFile) int { return strings.Compare(a.Path, b.Path) }) {
			t.Errorf("%+v", m)
		}
		for _, file := range m.Files {
			at, err := x.Locate(t.Context(), sdk.FileRef{Name: m.Name, Revision: m.Revision, Path: file.Path})
			if err == nil && at.URL == "" && at.Content == nil || err == nil && !fs.ValidPath(file.Path) {
				t.Errorf("%q is at %+v", file.Path, at)
			}
		}
	})
}
