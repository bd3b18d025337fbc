package main_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/enginetest/fakehub"
	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/internal/testplugin"
	"github.com/seer-engine/seer/sdk"
)

func TestMain(m *testing.M) { testplugin.Main(m, "fetch-huggingface") }

func newHub(t *testing.T) *fakehub.Hub {
	t.Helper()
	files := map[string]fakehub.File{
		"config.json":       {Content: fakehub.Text("{}")},
		"model.safetensors": {Content: fakehub.Text("weights"), Kind: fakehub.Xet},
	}
	h, err := fakehub.New(fakehub.Options{Repos: []fakehub.Repo{
		{ID: "org/open", Commits: []fakehub.Commit{{Files: files}}, Pulls: map[int]int{1: 0}},
		{ID: "org/gated", Gated: "auto", Readers: []string{"user"}, Commits: []fakehub.Commit{{Files: files}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// fetcher is the built-in plugin in the real host.
func fetcher(t *testing.T, env map[string]string, home string) (*host.Host, sdk.Fetcher) {
	t.Helper()
	return testplugin.Fetcher(t, "fetch-huggingface", "hub", env, host.Options{Home: home})
}

// The engine gets what it can read without the token, which the plugin never holds.
func TestGatedModelInTheHost(t *testing.T) {
	cloud := newHub(t)
	env := cloud.Env()
	h, f := fetcher(t, env, "")
	for name, revision := range map[string]string{"org/open": "refs/pr/1", "org/gated": ""} {
		m, err := f.Resolve(t.Context(), sdk.ModelRef{Source: "hub", Name: name, Revision: revision})
		if err != nil || len(m.Files) != 2 || m.Revision != cloud.Commit(name, "main") {
			t.Fatalf("%+v, %v", m, err)
		}
		for path, want := range map[string]string{"config.json": "{}", "model.safetensors": "weights"} {
			at, err := f.Locate(t.Context(), sdk.FileRef{Source: "hub", Name: m.Name, Revision: m.Revision, Path: path})
			if err != nil {
				t.Fatal(err)
			}
			if got := testplugin.Read(t, at); got != want || len(at.Headers) != 0 {
				t.Errorf("%s of %s at %+v: %q", path, name, at, got)
			}
		}
	}
	if h.Holds([]byte(env["HF_TOKEN"])) {
		t.Error("the plugin holds the user's token")
	}
}

// The token of the Xet storage is asked for with the user's token, and the plugin sees neither.
func TestXetTokenInTheHost(t *testing.T) {
	cloud := newHub(t)
	h, f := fetcher(t, cloud.Env(), "")
	m, err := f.Resolve(t.Context(), sdk.ModelRef{Source: "hub", Name: "org/gated"})
	if err != nil {
		t.Fatal(err)
	}
	at, err := f.Locate(t.Context(), sdk.FileRef{Source: "hub", Name: m.Name, Revision: m.Revision, Path: "model.safetensors"})
	if err != nil || len(at.Xet.Hash) != 64 {
		t.Fatalf("%+v, %v", at, err)
	}
	ask := f.(interface {
		Get(ctx context.Context, url string) (int, []byte, error)
	}).Get
	status, body, err := ask(t.Context(), at.Xet.TokenURL)
	var access struct{ AccessToken, CASURL string }
	if err := json.Unmarshal(body, &access); err != nil || status != http.StatusOK || access.AccessToken == "" || access.CASURL == "" {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	if err != nil || h.Holds([]byte(access.AccessToken)) {
		t.Errorf("the plugin holds the token of the storage: %v", err)
	}
	for _, elsewhere := range []string{cloud.URL(fakehub.XetStorage) + "/v2/reconstructions/" + at.Xet.Hash, cloud.URL(fakehub.API) + "/settings"} {
		if _, _, err := ask(t.Context(), elsewhere); sdk.CodeOf(err) != sdk.Unauthorized {
			t.Errorf("%s was asked, which the manifest does not name: %v", elsewhere, err)
		}
	}
}

// HF_HUB_DISABLE_XET leaves the storage alone.
func TestXetDisabled(t *testing.T) {
	for value, disabled := range map[string]bool{"1": true, "ON": true, "0": false, "": false} {
		cloud := newHub(t)
		env := cloud.Env()
		env["HF_HUB_DISABLE_XET"] = value
		_, f := fetcher(t, env, "")
		m, err := f.Resolve(t.Context(), sdk.ModelRef{Source: "hub", Name: "org/open"})
		if err != nil {
			t.Fatal(err)
		}
		at, err := f.Locate(t.Context(), sdk.FileRef{Source: "hub", Name: m.Name, Revision: m.Revision, Path: "model.safetensors"})
		if err != nil || (at.Xet.Hash == "") != disabled {
			t.Errorf("%q: %+v, %v", value, at, err)
		}
	}
}

// The token is where huggingface_hub keeps it: the first of these places that is set counts.
func TestTokenInTheHost(t *testing.T) {
	cloud := newHub(t)
	env, home := cloud.Env(), t.TempDir()
	token := env["HF_TOKEN"]
	delete(env, "HF_TOKEN")
	place := func(elem ...string) string {
		path := filepath.Join(append([]string{home}, elem...)...)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	resolve := func(set map[string]string) error {
		all := map[string]string{}
		maps.Copy(all, env)
		maps.Copy(all, set)
		_, f := fetcher(t, all, home)
		_, err := f.Resolve(t.Context(), sdk.ModelRef{Source: "hub", Name: "org/gated"})
		return err
	}
	if err := resolve(nil); sdk.CodeOf(err) != sdk.Unauthorized || !strings.Contains(err.Error(), "accept them at") {
		t.Errorf("without a token: %v", err)
	}
	place(".cache", "huggingface", "token")
	path := place("my tökens", "t")
	place("hf é", "token")
	place("xdg", "huggingface", "token")
	none := filepath.Join(home, "none")
	for name, test := range map[string]struct {
		set   map[string]string
		found bool
	}{
		"default":                  {nil, true},
		"HUGGING_FACE_HUB_TOKEN":   {map[string]string{"HUGGING_FACE_HUB_TOKEN": token, "HF_HOME": none}, true},
		"HF_TOKEN_PATH":            {map[string]string{"HF_TOKEN_PATH": path, "HF_HOME": none}, true},
		"HF_TOKEN_PATH, home":      {map[string]string{"HF_TOKEN_PATH": "~/my tökens/t", "HF_HOME": none}, true},
		"HF_HOME":                  {map[string]string{"HF_HOME": filepath.Join(home, "hf é"), "XDG_CACHE_HOME": none}, true},
		"HF_HOME, home":            {map[string]string{"HF_HOME": "~/hf é"}, true},
		"XDG_CACHE_HOME":           {map[string]string{"XDG_CACHE_HOME": filepath.Join(home, "xdg")}, true},
		"nothing in HF_HOME":       {map[string]string{"HF_HOME": none}, false},
		"nothing at HF_TOKEN_PATH": {map[string]string{"HF_TOKEN_PATH": none, "HF_HOME": filepath.Join(home, "hf é")}, false},
	} {
		if err := resolve(test.set); (err == nil) != test.found {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whether a branch has moved is asked with the user's token, without the plugin: not even its
// code is loaded.
func TestProbeInTheHost(t *testing.T) {
	cloud := newHub(t)
	_, f := fetcher(t, cloud.Env(), "")
	bases := map[string]string{"org/open": cloud.URL(fakehub.API) + "/org/open/resolve/" + cloud.Commit("org/open", "main") + "/", "org/gated": ""}
	probes := map[string]sdk.Probe{}
	for name, base := range bases {
		m, err := f.Resolve(t.Context(), sdk.ModelRef{Source: "hub", Name: name, Revision: "main"})
		if err != nil || m.Base != base || m.Probe.URL == "" {
			t.Fatalf("%+v, %v", m, err)
		}
		probes[name] = m.Probe
	}
	if m, err := f.Resolve(t.Context(), sdk.ModelRef{Source: "hub", Name: "org/open", Revision: "refs/pr/1"}); err != nil || m.Probe.URL != "" {
		t.Errorf("a revision that takes two questions: %+v, %v", m.Probe, err)
	}
	h, f := fetcher(t, cloud.Env(), "")
	for name, probe := range probes {
		before := len(cloud.Requests())
		status, body, err := fetch.Get(t.Context(), f, probe.URL)
		if sum := sha256.Sum256(body); err != nil || status != http.StatusOK || hex.EncodeToString(sum[:]) != probe.SHA256 {
			t.Errorf("%s: %d %s, %v", name, status, body, err)
		}
		asked := cloud.Requests()[before:]
		if len(asked) != 1 || !asked[0].HubToken {
			t.Errorf("%s: %+v", name, asked)
		}
	}
	if h.Memory() != 0 {
		t.Error("the plugin was loaded")
	}
}
