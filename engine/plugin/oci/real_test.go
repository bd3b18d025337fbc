package oci_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/engine/plugin/oci"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

func TestRegistryPushAndPull(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	host := startRegistry(t, plainly)
	c := plain()
	b := newBundle(t, "1.2.0", 100<<10)
	ref := host + "/acme/provider-tiny:1.2"
	var sent, got [2]int64
	c.Transfer.Progress = func(done, total int64) { sent = [2]int64{done, total} }
	pushed, err := c.Push(t.Context(), ref, b)
	if err != nil {
		t.Fatal(err)
	}
	if pushed.Reference != ref || !strings.HasPrefix(pushed.OCI, "sha256:") || pushed.Resolved != host+"/acme/provider-tiny@"+pushed.OCI {
		t.Errorf("%+v", pushed)
	}
	c.Transfer.Progress = func(done, total int64) { got = [2]int64{done, total} }
	for _, name := range []string{ref, "oci://" + ref, host + "/acme/provider-tiny@" + pushed.OCI, "oci://" + pushed.Resolved} {
		back, origin, err := c.Pull(t.Context(), name)
		if err != nil {
			t.Fatal(name, err)
		}
		same(t, back, b)
		if want := (bundle.Origin{Reference: name, OCI: pushed.OCI, Resolved: pushed.Resolved}); origin != want {
			t.Errorf("%+v, want %+v", origin, want)
		}
	}
	if sent != got || sent[0] != sent[1] || sent[0] < 100<<10 {
		t.Errorf("progress: sent %v, got %v", sent, got)
	}
	// The same again is the same, in whatever repository, and sends no module.
	sent = [2]int64{}
	c.Transfer.Progress = func(done, total int64) { sent = [2]int64{done, total} }
	if again, err := c.Push(t.Context(), ref, b); err != nil || again != pushed || sent[0] != 0 {
		t.Errorf("%+v, %v, sent %v", again, err, sent)
	}
	if other, err := c.Push(t.Context(), host+"/else/where:x", b); err != nil || other.OCI != pushed.OCI {
		t.Errorf("%+v, %v", other, err)
	}
	asDocumented(t, "http://"+host+"/v2/acme/provider-tiny/manifests/1.2")
}

// asDocumented holds what lies in the registry against docs/plugins/trust.md.
func asDocumented(t *testing.T, address string) {
	t.Helper()
	var m struct {
		ArtifactType string
		Config       struct{ MediaType string }
		Layers       []struct{ MediaType string }
		Annotations  map[string]string
	}
	getJSON(t, address, "application/vnd.oci.image.manifest.v1+json", &m)
	if m.ArtifactType != "application/vnd.seer.plugin.v1" || m.Config.MediaType != "application/vnd.seer.plugin.manifest.v1+yaml" ||
		len(m.Layers) != 1 || m.Layers[0].MediaType != "application/vnd.seer.plugin.wasm.v1+zstd" {
		t.Errorf("%+v", m)
	}
	if want := map[string]string{"org.opencontainers.image.title": "provider-tiny", "org.opencontainers.image.version": "1.2.0",
		"org.opencontainers.image.description": "Small machines"}; !reflect.DeepEqual(m.Annotations, want) {
		t.Errorf("%v", m.Annotations)
	}
}

// A signature and a report that come later go under the same tag.
func TestRegistryPushAgain(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	host := startRegistry(t, plainly)
	c := plain()
	b := newBundle(t, "1.0.0", 1000)
	ref := host + "/acme/tiny:1"
	first, err := c.Push(t.Context(), ref, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, add := range []func(){func() { b.Signature = []byte("signed") }, func() { b.Report = []byte(`{"kit":1}`) }} {
		add()
		origin, err := c.Push(t.Context(), ref, b)
		if err != nil || origin.OCI == first.OCI {
			t.Fatal(origin, err)
		}
		back, _, err := c.Pull(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		same(t, back, b)
	}
	if old, _, err := c.Pull(t.Context(), host+"/acme/tiny@"+first.OCI); err != nil || old.Signature != nil {
		t.Error("what was there before is not what it was", err)
	}
	for _, name := range []string{host + "/acme/tiny", host + "/acme/tiny@" + first.OCI} {
		if _, err := c.Push(t.Context(), name, b); err == nil || !strings.Contains(err.Error(), "name the tag to push to, like "+host+"/acme/tiny:1.0.0") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRegistryWhatIsThere(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	host := startRegistry(t, plainly)
	c := plain()
	b := newBundle(t, "1.0.0", 1000)
	for i := range 12 {
		if _, err := c.Push(t.Context(), fmt.Sprintf("%s/acme/tiny:1.%02d", host, i), b); err != nil {
			t.Fatal(err)
		}
	}
	if tags, err := c.Tags(t.Context(), host+"/acme/tiny"); err != nil || len(tags) != 12 || tags[3] != "1.03" {
		t.Errorf("%v, %v", tags, err)
	}
	for ref, text := range map[string]string{
		host + "/acme/tiny":    ": there is no tag latest, or not all of what it names; there are 1.02, 1.03, 1.04, 1.05, 1.06, 1.07, 1.08, 1.09, 1.10, 1.11 and 2 more",
		host + "/acme/tiny:2":  "there is no tag 2",
		host + "/acme/other:1": "there is no such plugin",
		host + "/acme/tiny@sha256:" + strings.Repeat("0", 64): "is not there",
	} {
		if _, _, err := c.Pull(t.Context(), ref); sdk.CodeOf(err) != sdk.NotFound || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), host+"/acme/") {
			t.Errorf("%s: %s %v", ref, sdk.CodeOf(err), err)
		}
	}
	// https is what is spoken, unless somebody says otherwise of this computer's own.
	c.PlainHTTP = false
	if _, _, err := c.Pull(t.Context(), host+"/acme/tiny:1.00"); err == nil || !strings.Contains(err.Error(), "speaks plain HTTP") || !remedy.Has(remedy.Of(err), remedy.AllowPlainHTTP) {
		t.Error(err)
	}
	if _, _, err := plain().Pull(t.Context(), "registry.example/acme/tiny:1"); sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), "only a registry on this computer") {
		t.Error(err)
	}
}

func TestRegistryManyAtOnce(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	host := startRegistry(t, plainly)
	c := plain()
	b := newBundle(t, "1.0.0", 200<<10)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			ref := fmt.Sprintf("%s/acme/tiny:%d", host, i%4) // the same from several, too
			if _, err := c.Push(t.Context(), ref, b); err != nil {
				t.Error(err)
				return
			}
			back, _, err := c.Pull(t.Context(), ref)
			if err != nil {
				t.Error(err)
				return
			}
			same(t, back, b)
		})
	}
	all.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := c.Pull(ctx, host+"/acme/tiny:0"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestRegistryLogin(t *testing.T) {
	web, trusting := withTLS(t)
	host := startRegistry(t, web+withUsers(t, "ann", "s3cret"))
	ref, b := host+"/acme/tiny:1", newBundle(t, "1.0.0", 1000)
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	push := func(t *testing.T, config string, transport http.RoundTripper) error {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		c := oci.Client{Transfer: plain().Transfer}
		c.Transfer.Transport = transport
		if _, err := c.Push(t.Context(), ref, b); err != nil {
			return err
		}
		back, _, err := c.Pull(t.Context(), ref)
		if err == nil {
			same(t, back, b)
		}
		return err
	}
	saved := func(password string) string {
		return fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, host, base64.StdEncoding.EncodeToString([]byte("ann:"+password)))
	}
	for config, text := range map[string]string{
		"{}":                                  "wants a login, and there is none. Log in with `docker login " + host + "`",
		saved("wrong"):                        "access is refused (401: ",
		`{"auths":`:                           "the saved login for " + host + " cannot be read",
		`{"credsStore":"there-is-none-such"}`: "the saved login for " + host + " cannot be read",
	} {
		if err := push(t, config, trusting); sdk.CodeOf(err) != sdk.Unauthorized || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "wrong") {
			t.Errorf("%s: %v", config, err)
		}
	}
	if err := push(t, saved("s3cret"), trusting); err != nil {
		t.Error(err)
	}
	if err := push(t, saved("s3cret"), nil); sdk.CodeOf(err) != sdk.Unavailable || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that nobody knows: %v", err)
	}
	// A helper keeps the login elsewhere.
	helper := "#!/bin/sh\nread host\nprintf '{\"ServerURL\":\"%s\",\"Username\":\"ann\",\"Secret\":\"s3cret\"}' \"$host\"\n"
	bin := t.TempDir()
	testkit.WriteProgram(t, filepath.Join(bin, "docker-credential-test"), helper)
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if err := push(t, fmt.Sprintf(`{"credHelpers":{%q:"test"}}`, host), trusting); err != nil {
		t.Error(err)
	}
	own := oci.Client{Transfer: plain().Transfer, Credentials: func(_ context.Context, asked string) (string, string, error) {
		if asked != host {
			t.Errorf("asked for %s", asked)
		}
		return "ann", "s3cret", nil
	}}
	own.Transfer.Transport = trusting
	if _, _, err := own.Pull(t.Context(), ref); err != nil {
		t.Error(err)
	}
}
