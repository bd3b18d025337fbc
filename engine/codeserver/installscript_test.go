package codeserver

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// release is an archive as the project publishes it, with a program that says its name.
func release(t *testing.T, top string) []byte {
	t.Helper()
	var data bytes.Buffer
	packed := gzip.NewWriter(&data)
	archive := tar.NewWriter(packed)
	for name, text := range map[string]string{"bin/code-server": "#!/bin/sh\necho I am " + Version + "\n", "lib/node": ""} {
		if err := archive.WriteHeader(&tar.Header{Name: top + "/" + name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

// image is a folder for the PATH with what is in every image, and what else is named.
func image(t *testing.T, more ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, tool := range append([]string{"sh", "uname", "mkdir", "rm", "mv", "ln", "tar", "gzip"}, more...) {
		found, err := exec.LookPath(tool)
		if tool == "python3" && err == nil { // not a program that only chooses one
			var itself []byte
			itself, err = exec.Command(found, "-c", "import sys; print(sys.executable, end='')").Output()
			found = string(itself)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, tool), []byte("#!/bin/sh\nexec '"+found+"' \"$@\"\n"), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A machine gets a release with whatever its image has to fetch it; one that cannot be
// fetched leaves nothing.
func TestInstallScript(t *testing.T) {
	machine, err := exec.Command("uname", "-m").Output()
	if err != nil {
		t.Fatal(err)
	}
	name := "code-server-" + Version + "-linux-" + strings.NewReplacer("x86_64", "amd64", "aarch64", "arm64").Replace(strings.TrimSpace(string(machine)))
	data := release(t, name)
	var asked atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good/v" + Version + "/" + name + ".tar.gz":
			asked.Add(1)
			_, _ = w.Write(data)
		case "/cut/v" + Version + "/" + name + ".tar.gz":
			_, _ = w.Write(data[:len(data)/2])
		default:
			http.NotFound(w, r)
		}
	}))
	defer web.Close()
	install := func(home, path, from string) (string, error) {
		cmd := exec.Command("/bin/sh", "-c", installScript(web.URL+from))
		cmd.Env = []string{"HOME=" + home, "PATH=" + path}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, fetcher := range []string{"curl", "python3"} {
		home, path := filepath.Join(t.TempDir(), "home é"), image(t, fetcher)
		for _, from := range []string{"/nowhere", "/cut"} {
			if out, err := install(home, path, from); err == nil {
				t.Errorf("%s: no error of %s: %s", fetcher, from, out)
			}
		}
		for _, place := range []string{"lib", "bin"} {
			if left, err := os.ReadDir(filepath.Join(home, ".local", place)); len(left) > 0 || err != nil {
				t.Errorf("%s: left in %s: %v, %v", fetcher, place, left, err)
			}
		}
		asked.Store(0)
		for range 2 { // the second time it is there
			if out, err := install(home, path, "/good"); err != nil {
				t.Errorf("%s: %v: %s", fetcher, err, out)
			}
		}
		said, err := exec.Command(filepath.Join(home, ".local", "bin", "code-server")).CombinedOutput()
		if want := "I am " + Version + "\n"; string(said) != want || err != nil || asked.Load() != 1 {
			t.Errorf("%s: %q, %v; fetched %d times", fetcher, said, err, asked.Load())
		}
		if left, err := os.ReadDir(filepath.Join(home, ".local", "lib")); len(left) != 1 || err != nil {
			t.Errorf("%s: left %v, %v", fetcher, left, err)
		}
	}
	if out, err := install(t.TempDir(), image(t), "/good"); err == nil || !strings.Contains(out, "no curl, wget or python3") {
		t.Errorf("without a tool: %v: %s", err, out)
	}
	has := image(t)
	if err := os.WriteFile(filepath.Join(has, "code-server"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := install(t.TempDir(), has, "/nowhere"); err != nil || out != "" {
		t.Errorf("an image that has it: %v: %s", err, out)
	}
}
