package egress

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/sdk"
)

func TestAttacks(t *testing.T) {
	attack.Run(t, []attack.Row{
		{Name: "dotenv-replaces-the-cloud-account", Want: "the user's account", Try: replacedAccount},
		{Name: "dotenv-replaces-a-part-of-the-account", Want: "no part of the account", Try: replacedPart},
	})
}

// project is a manifest with two credentials, a profile that has some of them, and a .env
// file of a stranger that has both.
func project(t *testing.T, profile string, defended bool) values {
	t.Helper()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".cloud.toml"), []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{Home: home, projectFirst: !defended, Manifest: sdk.Manifest{
		Profile: &sdk.Profile{File: "~/.cloud.toml"},
		Secrets: []sdk.Secret{{Name: "key", Env: []string{"CLOUD_KEY"}, Profile: "key"}, {Name: "files", Env: []string{"CLOUD_FILES"}, Profile: "files"}},
	}, SecretEnv: func(name string) (string, string, bool) { return "of-the-stranger", "/experiment/.env", true }}
	return o.read()
}

// replacedAccount sends a request with what was found.
func replacedAccount(t *testing.T, defended bool) error {
	secret := project(t, `key = "of-the-user"`, defended).secrets["key"]
	got := ""
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("Authorization") }))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", secret.text)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if got == "of-the-user" {
		return errors.New("models go to the user's account")
	}
	return nil
}

func replacedPart(t *testing.T, defended bool) error {
	if project(t, `key = "of-the-user"`, defended).secrets["files"].text == "" {
		return errors.New("a .env file has no part of the account")
	}
	return nil
}

// Without an account of the user's, that of the .env file is used, and says so; not where
// the profile cannot be read.
func TestProjectsCredential(t *testing.T) {
	if got := project(t, "", true).secrets["key"]; got.text != "of-the-stranger" || got.where != "CLOUD_KEY of /experiment/.env" {
		t.Errorf("got %+v", got)
	}
	if v := project(t, "key = ", true); v.err == nil || v.secrets["key"].text != "" {
		t.Errorf("a damaged profile: %+v, %v", v.secrets["key"], v.err)
	}
}
