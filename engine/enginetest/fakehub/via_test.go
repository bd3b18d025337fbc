package fakehub_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/enginetest/fakehub"
)

func TestVia(t *testing.T) {
	var seen []string
	hub, err := fakehub.New(fakehub.Options{
		Repos: []fakehub.Repo{{ID: "org/name", Commits: []fakehub.Commit{{Files: map[string]fakehub.File{"model.bin": {Content: fakehub.Text("x"), Kind: fakehub.LFS}}}}}},
		Via: func(address string) (string, error) {
			seen = append(seen, address)
			return strings.Replace(address, "127.0.0.1", "localhost", 1), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	if len(seen) != 3 {
		t.Errorf("addresses %q, want those of three hosts", seen)
	}
	resp, err := http.Get(hub.URL(fakehub.API) + "/org/name/resolve/main/model.bin")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if host := resp.Request.URL.Hostname(); resp.StatusCode != http.StatusOK || host != "localhost" {
		t.Errorf("status %d from %q, want that the content is found by the address of the proxy", resp.StatusCode, host)
	}
}
