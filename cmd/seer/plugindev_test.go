package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/internal/testkit"
)

// sharesGo gives the program Go's caches and settings of this test: with others, the standard
// library would be compiled anew, which takes minutes beside other tests.
func (p *program) sharesGo() {
	p.t.Helper()
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS", "CGO_ENABLED"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			p.t.Fatal(err)
		}
		p.env = append(p.env, name+"="+strings.TrimSpace(string(out)))
	}
}

// developing runs seer plugin dev until the test has seen what it waits for.
func (p *program) developing(dir string, args []string, during func(until func(text string))) string {
	p.t.Helper()
	said := &testkit.Buffer{}
	c := p.command(append([]string{"plugin", "dev", dir}, args...)...)
	c.Stderr = said
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	defer func() {
		_ = c.Process.Signal(syscall.SIGINT)
		select {
		case <-ended:
		case <-time.After(2 * patience):
			_ = c.Process.Kill()
			p.t.Errorf("dev does not end:\n%s", said)
		}
	}()
	during(func(text string) {
		p.t.Helper()
		testkit.EventuallyNil(p.t, strconv.Quote(text), func() error {
			if !strings.Contains(said.String(), text) {
				return errors.New(said.String())
			}
			return nil
		})
	})
	return said.String()
}

// An author sees that something is tried, who speaks, and of a build that asks for more
// what is new.
func TestPluginDev(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.sharesGo()
	dir := filepath.Join(p.dir, "provider-tiny")
	p.run("plugin", "new", "provider", "tiny", "--dir", dir)

	said := p.developing(dir, nil, func(until func(string)) { until("simulator: http://127.0.0.1:") })
	for _, want := range []string{"\nplugin: trying it …\n", "  http POST {url}=https://api.tiny.example /v1/machines: rents a machine\n", "warning: not granted; to allow it: seer plugin grant --folder "} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in:\n%s", want, said)
		}
	}

	manifest := filepath.Join(dir, "plugin.yaml")
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	said = p.developing(dir, []string{"--no-test"}, func(until func(string)) {
		until("warning: not granted")
		_, hash, _ := strings.Cut(p.run("plugin", "info", filepath.Join(dir, "dist", "provider-tiny.wasm"), "--json"), `"permissions":"sha256:`)
		p.run("plugin", "grant", "--folder", filepath.Join(dir, "dist"), "--grant", "sha256:"+hash[:64])
		more := strings.Replace(string(text), "methods: [DELETE]", "methods: [DELETE, PATCH]", 1)
		if err := os.WriteFile(manifest, []byte(more), 0o644); err != nil {
			t.Fatal(err)
		}
		until("asks for more")
		until("to allow it: seer plugin grant --folder " + filepath.Join(dir, "dist") + "\n")
	})
	_, after, _ := strings.Cut(said, "warning: this build asks for more than you have granted, and is not used:\n")
	if want := "  + http PATCH {url}=https://api.tiny.example /v1/machines/*: ends a machine\nto allow it: "; !strings.HasPrefix(after, want) {
		t.Errorf("of a build that asks for more: %q, want %q", after, want)
	}
}
