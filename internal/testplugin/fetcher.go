package testplugin

import (
	"io"
	"net/http"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk"
)

// Fetcher returns the fetcher of a source, which is the built-in plugin of this ID in a host that
// grants everything; see [Open].
func Fetcher(t testing.TB, id, source string, env map[string]string, o host.Options) (*host.Host, sdk.Fetcher) {
	t.Helper()
	h := Open(t, id, env, o)
	f, err := h.Fetcher(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	return h, f
}

// FetcherWith is [Fetcher] with the origins that the user allows beside public ones, separated by
// commas.
func FetcherWith(t testing.TB, id, source, origins string) sdk.Fetcher {
	t.Helper()
	env := map[string]string{}
	if origins != "" {
		env["SEER_MODEL_ORIGINS"] = origins
	}
	_, f := Fetcher(t, id, source, env, host.Options{})
	return f
}

// Read reads a file without the headers of its location, and so without a credential.
func Read(t testing.TB, at sdk.Location) string {
	t.Helper()
	if at.URL == "" {
		return string(at.Content)
	}
	resp, err := http.Get(at.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s, %v", at.URL, resp.StatusCode, text, err)
	}
	return string(text)
}
