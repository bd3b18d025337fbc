package provision

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

func TestReachesHub(t *testing.T) {
	for words, want := range map[string]bool{
		"open": true, "host": true, "none": false, "hosts huggingface.co": true, "hosts example.org *.hf.co": false,
		"hosts huggingface.co:8443": false, "hosts mirror.example": false,
		"hosts mirror.example HF_ENDPOINT=https://mirror.example/hub":      true,
		"hosts huggingface.co HF_ENDPOINT=https://mirror.example":          false,
		"hosts mirror.example:8080 HF_ENDPOINT=http://mirror.example:8080": true,
		"hosts mirror.example HF_ENDPOINT=http://mirror.example:8080":      false,
		"hosts huggingface.co HF_ENDPOINT=::":                              false,
	} {
		parts := strings.Fields(words)
		s := experiment.Sandbox{Network: parts[0]}
		for _, p := range parts[1:] {
			if endpoint, ok := strings.CutPrefix(p, "HF_ENDPOINT="); ok {
				s.Env = map[string]string{"HF_ENDPOINT": endpoint}
				continue
			}
			s.NetworkHosts = append(s.NetworkHosts, p)
		}
		if got := reachesHub(s); got != want {
			t.Errorf("%s: %t", words, got)
		}
	}
}

// What a repository has, or may have beside the files that patterns have chosen, is not absent.
func TestAbsentFiles(t *testing.T) {
	got := fetch.Model{Files: []sdk.ModelFile{{Path: "config.json"}}, Omitted: []sdk.ModelFile{{Path: "pytorch_model.bin"}}}
	names := absent(experiment.Model{Source: "hub"}, got)
	if slices.Contains(names, "config.json") || slices.Contains(names, "pytorch_model.bin") || !slices.Contains(names, "tokenizer.model") {
		t.Errorf("%q", names)
	}
	for _, m := range []experiment.Model{{Source: "folder"}, {Source: "hub", Dataset: true}, {Source: "hub", Exclude: []string{"x"}}} {
		if names := absent(m, got); names != nil {
			t.Errorf("%+v: %q", m, names)
		}
	}
}

func TestNamesAtTheHub(t *testing.T) {
	c := strings.Repeat("c", 40)
	for name, test := range map[string]struct {
		models []machine.Model
		want   []string
	}{
		"main":       {[]machine.Model{{Name: "org/m", Repo: "org/m"}}, []string{"[org/m] [main]"}},
		"a renamed":  {[]machine.Model{{Name: "hub:old", Source: "hub", Repo: "org/new", Ref: "main"}}, []string{"[org/new old] [main]"}},
		"a tag":      {[]machine.Model{{Name: "org/m", Repo: "org/m", Ref: "v1"}}, []string{"[org/m] [v1 main]"}},
		"a commit":   {[]machine.Model{{Name: "org/m", Repo: "org/m", Ref: c, Revision: c}}, []string{"[org/m] [main]"}},
		"two":        {[]machine.Model{{Name: "org/m", Repo: "org/m", Ref: "v1"}, {Name: "org/m", Repo: "org/m"}}, []string{"[org/m] [v1]", "[org/m] [main]"}},
		"two tags":   {[]machine.Model{{Name: "org/m", Repo: "org/m", Ref: "v1"}, {Name: "org/m", Repo: "org/m", Ref: "v2"}}, []string{"[org/m] [v1 main]", "[org/m] [v2]"}},
		"a dataset":  {[]machine.Model{{Name: "org/m", Repo: "datasets/org/m", Dataset: true}, {Name: "org/m", Repo: "org/m"}}, []string{"[datasets/org/m] [main]", "[org/m] [main]"}},
		"hidden":     {[]machine.Model{{Name: "org/m", Repo: "org/m", Hidden: true}}, []string{"[] []"}},
		"no hub":     {[]machine.Model{{Name: "./m"}}, []string{"[] []"}},
		"one hidden": {[]machine.Model{{Name: "org/m", Repo: "org/m", Hidden: true}, {Name: "org/m", Repo: "org/m", Ref: "v1"}}, []string{"[] []", "[org/m] [v1 main]"}},
	} {
		var got []string
		for _, m := range named(make([]protocol.Model, len(test.models)), test.models) {
			got = append(got, fmt.Sprint(m.Repos, m.Refs))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
