package sshhost

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/policy"
	"github.com/seer-engine/seer/sdk"
)

// healthy is a host on which everything works.
func healthy() *checker {
	c := newChecker()
	c.isolations = func(context.Context) []sdk.Isolation {
		return []sdk.Isolation{{Name: "bubblewrap", Usable: true}, {Name: "gvisor", Reason: "not there"}, {Name: "none", Usable: true}}
	}
	c.gpus = func(context.Context) (isolation.GPUSet, error) {
		return isolation.GPUSet{Driver: "550.1", Found: []isolation.GPU{{Name: "NVIDIA H100 80GB HBM3"}, {Name: "NVIDIA H100 80GB HBM3"}}}, nil
	}
	c.cuda = func(context.Context, string) string { return "12.4" }
	c.namespaces = func() error { return nil }
	c.policy = func() (policy.Policy, error) { return policy.Policy{}, nil }
	c.networked = func(string) (bool, error) { return false, nil }
	c.reach = func(context.Context, string) error { return nil }
	c.leave = func(context.Context) string { return "" }
	return c
}

// finding is the one of a name.
func finding(t *testing.T, found []sdk.Finding, name string) sdk.Finding {
	t.Helper()
	for _, f := range found {
		if f.Name == name {
			if f.State != sdk.FindingOK && f.Fix == "" {
				t.Errorf("%+v says no fix", f)
			}
			return f
		}
	}
	t.Errorf("nothing is said of %s: %+v", name, found)
	return sdk.Finding{}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	moved := place{state: filepath.Join(dir, "state"), cache: filepath.Join(dir, "cache"), moved: "/home is on a network file system"}
	full := sdk.CheckQuery{GPU: "H100", GPUCount: 2, Network: "open", Hosts: []string{"b.example:443", "a.example:443", "a.example:443"}}
	for name, c := range map[string]struct {
		change func(*checker)
		query  sdk.CheckQuery
		about  string
		state  string
		text   string
	}{
		"GPUs":       {about: "GPUs, driver, CUDA", state: sdk.FindingOK, text: "2 × NVIDIA H100 80GB HBM3; driver 550.1, CUDA 12.4"},
		"too few":    {query: sdk.CheckQuery{GPU: "H100", GPUCount: 3}, about: "GPUs, driver, CUDA", state: sdk.FindingFailed, text: "3 × H100 wanted"},
		"other GPUs": {query: sdk.CheckQuery{GPU: "A100"}, about: "GPUs, driver, CUDA", state: sdk.FindingFailed, text: "1 × A100 wanted"},
		"broken driver": {change: func(c *checker) {
			c.gpus = func(context.Context) (isolation.GPUSet, error) { return isolation.GPUSet{Reason: "no driver"}, nil }
		}, about: "GPUs, driver, CUDA", state: sdk.FindingFailed, text: "no driver"},
		"moved":     {about: "home folder", state: sdk.FindingOK, text: "machines are kept in " + moved.state},
		"space":     {about: "state folder", state: sdk.FindingOK, text: "GB"},
		"no space":  {query: sdk.CheckQuery{DiskGB: 1 << 30}, about: "state folder", state: sdk.FindingFailed, text: "GB wanted"},
		"python":    {query: sdk.CheckQuery{PythonVersion: "3.99"}, about: "python 3.99", state: sdk.FindingFailed, text: "no python3.99"},
		"isolation": {about: "isolation", state: sdk.FindingOK, text: "bubblewrap works"},
		"gvisor":    {query: sdk.CheckQuery{Isolation: "gvisor"}, about: "isolation", state: sdk.FindingFailed, text: "gvisor: not there"},
		"none":      {query: sdk.CheckQuery{Isolation: "none"}, about: "isolation", state: sdk.FindingOK, text: "none was asked for"},
		"namespaces": {change: func(c *checker) {
			c.namespaces = func() error { return errors.New("forbidden") }
			c.isolations = func(context.Context) []sdk.Isolation {
				return []sdk.Isolation{{Name: "bubblewrap", Reason: "no namespaces"}}
			}
		}, about: "user namespaces", state: sdk.FindingWarning, text: "forbidden"},
		"not needed": {change: func(c *checker) { c.namespaces = func() error { return errors.New("forbidden") } }, about: "user namespaces", state: sdk.FindingOK, text: "does without"},
		"closed": {change: func(c *checker) {
			c.reach = func(_ context.Context, host string) error { return fmt.Errorf("%s is away", host) }
		}, query: full, about: "connection to a.example:443", state: sdk.FindingWarning, text: "a.example:443 is away"},
		"connected": {about: "connection to b.example:443", state: sdk.FindingOK, text: "TCP and TLS work"},
		"policy": {change: func(c *checker) {
			c.policy = func() (policy.Policy, error) { return policy.Policy{File: "/p", Networks: []string{"none"}}, nil }
		},
			query: full, about: "administrator's policy", state: sdk.FindingFailed, text: "networks in /p allows"},
		"killed": {change: func(c *checker) { c.leave = func(context.Context) string { return "KillUserProcesses in /x" } }, about: "processes after logout", state: sdk.FindingWarning, text: "/x"},
	} {
		host := healthy()
		if c.change != nil {
			c.change(host)
		}
		q := full
		if c.query.GPU != "" || c.query.PythonVersion != "" || c.query.Isolation != "" || c.query.DiskGB > 0 {
			q = c.query
		}
		found := host.check(t.Context(), moved, moved.cache, q)
		if f := finding(t, found, c.about); f.State != c.state || !strings.Contains(f.Detail, c.text) {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("the check has left %v", left)
	}
}

// A job's machine is on the node's own disk, wherever the cluster's home is.
func TestCheckNode(t *testing.T) {
	t.Parallel()
	c, dir := healthy(), t.TempDir()
	c.getenv = func(name string) string { return map[string]string{"TMPDIR": dir, "PATH": os.Getenv("PATH")}[name] }
	if f := finding(t, c.checkNode(t.Context(), sdk.CheckQuery{}), "node-local scratch"); f.State != sdk.FindingOK || !strings.Contains(f.Detail, dir) {
		t.Errorf("%+v", f)
	}
	c.networked = func(string) (bool, error) { return true, nil }
	if f := finding(t, c.checkNode(t.Context(), sdk.CheckQuery{}), "node-local scratch"); f.State != sdk.FindingFailed {
		t.Errorf("%+v", f)
	}
}

func TestReach(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "https://")
	if err := reachBy(t.Context(), host, server.Client().Transport); err != nil {
		t.Error(err)
	}
	if err := reachBy(t.Context(), host, http.DefaultTransport); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate of nobody: %v", err)
	}
	server.Close()
	if err := reachBy(t.Context(), host, server.Client().Transport); err == nil || !strings.Contains(err.Error(), "cannot connect to "+host) {
		t.Error(err)
	}
	plain := httptest.NewServer(server.Config.Handler)
	defer plain.Close()
	if err := reachBy(t.Context(), plain.Listener.Addr().String(), http.DefaultTransport); err != nil {
		t.Errorf("a mirror without TLS: %v", err)
	}
	if err := reachBy(t.Context(), "no host", server.Client().Transport); err == nil {
		t.Error("a name with a space was reached")
	}
}

func TestAfterLogout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files := []string{filepath.Join(dir, "logind.conf"), filepath.Join(dir, "*.d.conf")}
	if text := killsUser(files, "me"); text != "" {
		t.Error(text)
	}
	write("logind.conf", "[Login]\n#KillUserProcesses=yes\nKillUserProcesses = yes\n")
	if text := killsUser(files, "me"); !strings.Contains(text, "logind.conf") {
		t.Error(text)
	}
	if text := killsUser(files, "root"); text != "" {
		t.Error(text)
	}
	write("1.d.conf", "KillExcludeUsers=root me\n")
	if text := killsUser(files, "me"); text != "" {
		t.Error(text)
	}
	write("2.d.conf", "KillUserProcesses=no\n")
	if text := killsUser(files, "you"); text != "" {
		t.Error(text)
	}
}

func TestCleaner(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	for _, name := range []string{"host/seer-runtime-a", "host/seer-runtime-b", "models/x/file", "layers/y"} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, 10), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(top, "models/x"), 0o500); err != nil {
		t.Fatal(err)
	}
	clean := func(dry bool) []sdk.Cleaned {
		t.Helper()
		c := &cleaner{dry: dry, home: top, running: map[string]bool{filepath.Join(top, "host/seer-runtime-a"): true}}
		if err := errors.Join(c.programs(filepath.Join(top, "host"), false), c.entries(t.Context(), top)); err != nil {
			t.Error(err)
		}
		return c.removed
	}
	want := "[{~/host/seer-runtime-b 10} {~/layers 10} {~/models 10}]"
	for _, dry := range []bool{true, true, false} {
		if got := fmt.Sprint(clean(dry)); got != want {
			t.Errorf("dry %v: %s", dry, got)
		}
	}
	if left := clean(false); len(left) != 0 {
		t.Errorf("%v", left)
	}
	if _, err := os.Stat(filepath.Join(top, "host/seer-runtime-a")); err != nil {
		t.Errorf("a running program: %v", err)
	}
	c := &cleaner{running: map[string]bool{}}
	if err := c.programs(filepath.Join(top, "host"), true); err != nil || len(c.removed) != 0 {
		t.Errorf("%v, %v: another computer may run it", c.removed, err)
	}
}
