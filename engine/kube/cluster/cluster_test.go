package cluster_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/kube/cluster"
	"github.com/seer-engine/seer/engine/kube/kubewire"
	"github.com/seer-engine/seer/internal/kubetest"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// ask sends a request through a proxy, and returns the answer or the proxy's own error.
func ask(t *testing.T, p *cluster.Proxy, context, path string) (string, error) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://seer-kube"+path, nil).WithContext(t.Context())
	r.RequestURI = ""
	r.Header.Set(kubewire.ContextHeader, url.PathEscape(context))
	r.Header.Set("User-Agent", "Go-http-client/1.1") // the engine's; without one, client-go copies the request
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	if w.Header().Get(kubewire.ErrorHeader) != "" {
		err := kubewire.ParseFailure(w.Body.Bytes())
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("more than one line: %v", err)
		}
		return "", err
	}
	return fmt.Sprint(w.Code, " ", w.Body.String()), nil
}

// plugin writes a program that gives a credential, and its fields of a kubeconfig.
func plugin(t *testing.T, s *kubetest.Server, name, script string, more ...string) map[string]any {
	t.Helper()
	path := testkit.WriteFile(t, filepath.Join(s.Dir, name), "#!/bin/sh\n"+script)
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	mode := "IfAvailable"
	if len(more) > 0 {
		mode = more[0]
	}
	return map[string]any{"exec": map[string]any{"apiVersion": "client.authentication.k8s.io/v1", "command": path, "interactiveMode": mode}}
}

func gives(token string) string {
	return `echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"'` + token + `'"}}'`
}

// use has this program read a kubeconfig, and nothing of this computer's.
func use(t *testing.T, s *kubetest.Server, files ...string) {
	t.Helper()
	t.Setenv("HOME", s.Dir)
	t.Setenv("KUBECONFIG", strings.Join(files, string(filepath.ListSeparator)))
}

func TestCredentials(t *testing.T) {
	s := kubetest.New(t)
	cert, key := s.Certificate("me", time.Now().Add(time.Hour))
	token := testkit.WriteFile(t, filepath.Join(s.Dir, "token"), kubetest.Token)
	certFile, keyFile := testkit.WriteFile(t, filepath.Join(s.Dir, "cert.pem"), cert), testkit.WriteFile(t, filepath.Join(s.Dir, "key.pem"), key)
	users := map[string]any{
		"token": map[string]any{"token": kubetest.Token}, "tokenFile": map[string]any{"tokenFile": token},
		"cert":     map[string]any{"client-certificate-data": []byte(cert), "client-key-data": []byte(key)},
		"certFile": map[string]any{"client-certificate": certFile, "client-key": keyFile},
		"plugin":   plugin(t, s, "plugin", gives(kubetest.Token)), "team/a:b@c %": map[string]any{"token": kubetest.Token},
	}
	use(t, s, s.Kubeconfig("config", "token", users))
	p := &cluster.Proxy{}
	for name := range users {
		if got, err := ask(t, p, name, "/api/v1/pods?limit=2"); err != nil || got != "200 GET /api/v1/pods?limit=2" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := ask(t, p, "", kubewire.ContextPath); err != nil || !strings.Contains(got, `{"name":"token","namespace":"lab"}`) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestErrors(t *testing.T) {
	s := kubetest.New(t)
	old, key := s.Certificate("me", time.Now().Add(-24*time.Hour))
	users := map[string]any{
		"none": map[string]any{}, "token": map[string]any{"token": "bad"},
		"password":  map[string]any{"username": "me", "password": "x"},
		"tokenFile": map[string]any{"tokenFile": "/nowhere/token"},
		"expired":   map[string]any{"client-certificate-data": []byte(old), "client-key-data": []byte(key)},
		"certFile":  map[string]any{"client-certificate": "/nowhere/cert", "client-key": "/nowhere/key"},
		"fails":     plugin(t, s, "fails", "echo first >&2; echo 'token has expired, log in' >&2; exit 3"),
		"missing":   map[string]any{"exec": map[string]any{"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-plugin", "interactiveMode": "Never", "installHint": "install\nit"}},
		"terminal":  plugin(t, s, "terminal", gives(kubetest.Token), "Always"),
		"nonsense":  plugin(t, s, "nonsense", "echo nonsense"),
		"refused":   plugin(t, s, "refused", gives("bad")),
	}
	use(t, s, s.Kubeconfig("config", "", users))
	p := &cluster.Proxy{Config: cluster.Config{PluginSaid: func() string { return "token has expired, log in" }}}
	for name, want := range map[string]struct {
		code sdk.Code
		text string
	}{
		"":          {sdk.Invalid, "the kubeconfig names none; name one of"},
		"tokne":     {sdk.Invalid, "the kubeconfig does not have it; token may have been meant"},
		"zzzzzzzzz": {sdk.Invalid, "the kubeconfig does not have it; name one of certFile, expired"},
		"none":      {sdk.Unauthorized, "does not accept a request without a credential (401)"},
		"token":     {sdk.Unauthorized, "does not accept the token in the kubeconfig (401)"},
		"password":  {sdk.Unauthorized, "does not accept the password of me (401)"},
		"tokenFile": {sdk.Unauthorized, "a file of its credential cannot be read: open /nowhere/token"},
		"expired":   {sdk.Unauthorized, "the client certificate, which expired on "},
		"certFile":  {sdk.Invalid, "/nowhere/cert"},
		"fails":     {sdk.Unauthorized, "failed: executable " + s.Dir + "/fails failed with exit code 3 (token has expired, log in)"},
		"missing":   {sdk.Unauthorized, "no-such-plugin not found"},
		"terminal":  {sdk.Unauthorized, "wants a terminal, and has none here"},
		"nonsense":  {sdk.Unauthorized, "nonsense failed: decoding stdout"},
		"refused":   {sdk.Unauthorized, "does not accept the exec plugin " + s.Dir + "/refused (401); log in again by hand"},
	} {
		_, err := ask(t, p, name, "/version")
		testkit.WantCode(t, err, want.code, want.text)
	}
	s.Stop()
	testkit.EventuallyNil(t, "a refused connection", func() error { // what was cut is another error
		_, err := ask(t, p, "token", "/version")
		if sdk.CodeOf(err) != sdk.Unavailable || !strings.Contains(err.Error(), "refuses connections; see whether the cluster runs") {
			return err
		}
		return nil
	})
}

// clusterConfig writes one file for a cluster with these fields.
func clusterConfig(t *testing.T, s *kubetest.Server, name string, fields map[string]any) string {
	t.Helper()
	type named = map[string]any
	return testkit.WriteFile(t, filepath.Join(s.Dir, name), testkit.JSON(t, named{
		"apiVersion": "v1", "kind": "Config",
		"contexts": []named{{"name": name, "context": named{"cluster": name, "user": name}}},
		"users":    []named{{"name": name, "user": named{"token": kubetest.Token}}},
		"clusters": []named{{"name": name, "cluster": fields}},
	}))
}

func TestTLS(t *testing.T) {
	s := kubetest.New(t)
	plain := testkit.ServeHTTP(t, testkit.Loopback(t), http.NotFoundHandler())
	cut := testkit.Serve(testkit.Loopback(t), func(net.Conn) {})
	none := fmt.Sprint("http://127.0.0.1:", testkit.FreePort(t))
	use(t, s,
		clusterConfig(t, s, "stranger", map[string]any{"server": s.URL()}),
		clusterConfig(t, s, "name", map[string]any{"server": s.URL(), "certificate-authority": s.CA(), "tls-server-name": "other.example"}),
		clusterConfig(t, s, "plain", map[string]any{"server": strings.Replace(plain.URL, "http:", "https:", 1)}),
		clusterConfig(t, s, "cut", map[string]any{"server": "https://" + cut.Addr().String()}),
		clusterConfig(t, s, "proxy", map[string]any{"server": s.URL(), "certificate-authority": s.CA(), "proxy-url": none}),
		filepath.Join(s.Dir, "not-there"),
	)
	p := &cluster.Proxy{}
	for name, want := range map[string]string{
		"stranger": "signed by an authority that the kubeconfig does not name", "name": "the certificate is not for", "plain": "does not speak TLS",
		"cut": "try again when it can be reached", "proxy": "its proxy cannot be reached",
	} {
		_, err := ask(t, p, name, "/version")
		testkit.WantCode(t, err, sdk.Unavailable, want)
	}
}

func TestNoKubeconfig(t *testing.T) {
	s := kubetest.New(t)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	p := &cluster.Proxy{}
	use(t, s, "/nowhere/a", "/nowhere/b")
	_, err := ask(t, p, "lab", kubewire.ContextPath)
	testkit.WantCode(t, err, sdk.Invalid, "use the Kubernetes context lab: there is no kubeconfig (/nowhere/a, /nowhere/b)")
	use(t, s, testkit.WriteFile(t, filepath.Join(s.Dir, "broken"), "a: b: c"))
	_, err = ask(t, p, "", kubewire.ContextPath)
	testkit.WantCode(t, err, sdk.Invalid, s.Dir+"/broken")
}

// Several files are one, and a change of one counts for the next request.
func TestKubeconfigChanges(t *testing.T) {
	s := kubetest.New(t)
	write := func(token string) string {
		return s.Kubeconfig("second", "lab", map[string]any{"lab": map[string]any{"token": token}})
	}
	use(t, s, clusterConfig(t, s, "other", map[string]any{"server": s.URL(), "certificate-authority": s.CA()}), write("bad"))
	p := &cluster.Proxy{}
	_, err := ask(t, p, "", "/version")
	testkit.WantCode(t, err, sdk.Unauthorized, "the token in the kubeconfig")
	write(kubetest.Token)
	for _, name := range []string{"", "lab", "other"} {
		if got, err := ask(t, p, name, "/version"); err != nil || got != "200 GET /version" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := ask(t, p, "other", kubewire.ContextPath); err != nil || !strings.Contains(got, `"namespace":"default"`) {
		t.Errorf("%q, %v", got, err)
	}
}

// A plugin's credential that is not valid any more is replaced, without an error.
func TestPluginRenews(t *testing.T) {
	s := kubetest.New(t)
	file := testkit.WriteFile(t, filepath.Join(s.Dir, "its-token"), "bad")
	use(t, s, s.Kubeconfig("config", "lab", map[string]any{"lab": plugin(t, s, "renews", gives(`"$(cat `+file+`)"`))}))
	p := &cluster.Proxy{}
	_, err := ask(t, p, "", "/version")
	testkit.WantCode(t, err, sdk.Unauthorized, "(401)")
	testkit.WriteFile(t, file, kubetest.Token)
	if got, err := ask(t, p, "", "/version"); err != nil || got != "200 GET /version" {
		t.Errorf("%q, %v", got, err)
	}
}

// A credential that is no longer valid is replaced within the request that it was refused for.
func TestPluginGivesAnOldCredential(t *testing.T) {
	s := kubetest.New(t)
	mark := filepath.Join(s.Dir, "asked")
	script := "if [ -e " + mark + " ]; then " + gives(kubetest.Token) + "; else " + gives("old") + "; fi; : >" + mark
	use(t, s, s.Kubeconfig("config", "lab", map[string]any{"lab": plugin(t, s, "old", script)}))
	if got, err := ask(t, &cluster.Proxy{}, "", "/version"); err != nil || got != "200 GET /version" {
		t.Errorf("%q, %v", got, err)
	}
}

// Requests go through the proxy that the kubeconfig names.
func TestProxyURL(t *testing.T) {
	s := kubetest.New(t)
	var used atomic.Int32
	l := testkit.ServeHTTP(t, testkit.Loopback(t), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		used.Add(1)
		to, err := net.Dial("tcp", r.Host)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer to.Close()
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(to, conn) }()
		_, _ = io.Copy(conn, to)
	}))
	use(t, s, clusterConfig(t, s, "far", map[string]any{"server": s.URL(), "certificate-authority": s.CA(), "proxy-url": l.URL}))
	if got, err := ask(t, &cluster.Proxy{}, "far", "/version"); err != nil || got != "200 GET /version" || used.Load() != 1 {
		t.Errorf("%q, %v, by the proxy %d times", got, err, used.Load())
	}
	if _, code, err := run(t, "far", "", "true"); err != nil || code != 0 || used.Load() != 2 {
		t.Errorf("%d, %v, by the proxy %d times", code, err, used.Load())
	}
	s.Stop()
	l.CloseClientConnections()
}

// What a cluster answers is passed on as it is, but no header of ours.
func TestAnswers(t *testing.T) {
	s := kubetest.New(t)
	use(t, s, s.Kubeconfig("config", "lab", map[string]any{"lab": map[string]any{"token": kubetest.Token}}))
	s.Handle = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get(kubewire.ContextHeader) != "" {
			t.Error("the cluster sees a header of ours")
		}
		w.Header().Set(kubewire.ErrorHeader, "1")
		kubetest.Refuse(w, http.StatusConflict, "AlreadyExists", "it exists")
		return true
	}
	got, err := ask(t, &cluster.Proxy{}, "", "/api/v1/pods")
	var status struct{ Reason string }
	if err != nil || json.Unmarshal([]byte(strings.TrimPrefix(got, "409 ")), &status) != nil || status.Reason != "AlreadyExists" {
		t.Errorf("%q, %v", got, err)
	}
}
