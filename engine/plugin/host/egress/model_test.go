package egress

import (
	"strings"
	"testing"

	"github.com/seer-engine/seer/sdk"
)

func TestModelOrigin(t *testing.T) {
	for name, want := range map[string]string{
		"https://models.example/a/b#sha256=0": "https://models.example", "https://models.example:8443/a": "https://models.example:8443",
		"http://127.0.0.1:80/a": "http://127.0.0.1", "ghcr.io/org/model:v1": "https://ghcr.io", "127.0.0.1:5000/m": "https://127.0.0.1:5000",
		"registry.lab:443/m@sha256:0": "https://registry.lab",
		"org/model":                   "", "": "", "model": "", "https://u:p@a.example/": "", "https:///x": "", "ftp://a.example/x": "", "u@a.example/x": "", "a.example:x/y": "",
	} {
		if got, err := ModelOrigin(name); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}

func TestDestinationModel(t *testing.T) {
	m := sdk.Manifest{ID: "fetch-x", Implements: []string{"fetcher/1"}, Permissions: sdk.Permissions{HTTP: []sdk.HTTPPermission{
		{Destination: sdk.DestinationModel, Methods: []string{"GET"}, Paths: []string{"/**"}, Reason: "reads models"},
	}}}
	if problems := Check(m); len(problems) > 0 {
		t.Error(problems)
	}
	m.Secrets = []sdk.Secret{{Name: "key", Doc: "x", Env: []string{"KEY"}, Bind: []sdk.Binding{{Destination: sdk.DestinationModel, Header: "Authorization"}}}}
	if problems := Check(m); len(problems) != 1 || !strings.Contains(problems[0].Text, "the author of an experiment") {
		t.Errorf("a credential for whatever host an experiment names: %v", problems)
	}
	m.Secrets, m.Implements = nil, []string{"provider/1"}
	if problems := Check(m); len(problems) != 1 || !strings.Contains(problems[0].Text, "only a fetcher") {
		t.Errorf("a provider: %v", problems)
	}
	// A setting of that name is older than the destination, and means what it meant.
	m.Settings = []sdk.Setting{{Name: "model", Doc: "x", Env: []string{"MODEL_SERVER"}}}
	if problems := Check(m); len(problems) > 0 {
		t.Error(problems)
	}
}
