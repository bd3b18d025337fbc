package oci_test

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/engine/plugin/oci"
	"github.com/seer-engine/seer/internal/httpretry"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/wasmfile"
)

const patience = time.Minute // longer than any machine is slow

var listening = regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`)

// startRegistry runs the real server on a free port of its choice, and returns where.
func startRegistry(t *testing.T, more string) string {
	t.Helper()
	found, err := filepath.Glob("../../../.tools/registry-v*")
	if err != nil || len(found) == 0 {
		t.Fatal("the registry server is missing: run scripts/setup e2e")
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yml")
	text := "version: 0.1\nlog: {level: info}\nstorage: {filesystem: {rootdirectory: " + dir + "/data}}\n" + more
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(found[len(found)-1], "serve", config)
	cmd.Env = []string{"OTEL_TRACES_EXPORTER=none", "HOME=" + dir}
	logs, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	at := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(logs)
		for lines.Scan() { // to its end, or it would hang on a full pipe
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				at <- m[1]
			}
		}
		close(at)
	}()
	select {
	case host, ok := <-at:
		if ok {
			return host
		}
		t.Fatal("the registry server ended")
	case <-time.After(patience):
		t.Fatal("the registry server does not listen")
	}
	return ""
}

const plainly = "http: {addr: '127.0.0.1:0'}\n"

// withTLS makes a certificate for 127.0.0.1, and a transport that trusts it.
func withTLS(t *testing.T) (config string, trusting http.RoundTripper) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	own := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{"cert": {Type: "CERTIFICATE", Bytes: own.Certificate[0]}, "key": {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return fmt.Sprintf("http: {addr: '127.0.0.1:0', tls: {certificate: %s/cert, key: %s/key}}\n", dir, dir),
		&http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
}

// withUsers makes the server ask for a login.
func withUsers(t *testing.T, user, password string) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "htpasswd")
	if err := os.WriteFile(file, fmt.Appendf(nil, "%s:%s\n", user, hash), 0o600); err != nil {
		t.Fatal(err)
	}
	return "auth: {htpasswd: {realm: plugins, path: " + file + "}}\n"
}

// newBundle has a module that does not compress, so that what is sent has a size.
func newBundle(t *testing.T, version string, size int) bundle.Bundle {
	t.Helper()
	noise := make([]byte, size)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	text := "id: provider-tiny\nversion: " + version + "\ndescription: Small machines\n"
	wasm := wasmfile.AppendCustom([]byte{0, 'a', 's', 'm', 1, 0, 0, 0}, sdk.ManifestSection, []byte(text))
	b, err := bundle.New(wasmfile.AppendCustom(wasm, "noise", noise), nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func plain() oci.Client {
	return oci.Client{PlainHTTP: true, Transfer: httpretry.Options{Stall: patience, Total: patience}}
}

func same(t *testing.T, got, want bundle.Bundle) {
	t.Helper()
	if got.Digest() != want.Digest() || !bytes.Equal(got.Wasm, want.Wasm) || !bytes.Equal(got.Signature, want.Signature) || !bytes.Equal(got.Report, want.Report) {
		t.Errorf("%s %s with %q and %q came as %s %s with %q and %q",
			want.ID, want.Version, want.Signature, want.Report, got.ID, got.Version, got.Signature, got.Report)
	}
}

func getJSON(t *testing.T, address, accept string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil || resp.StatusCode != 200 {
		t.Fatalf("%s: %s, %v", address, resp.Status, err)
	}
}
