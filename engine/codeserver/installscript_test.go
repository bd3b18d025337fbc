package codeserver

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
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

// aboutRelease is what GitHub answers, shortened.
const aboutRelease = `{
  "url": "https://api.github.com/repos/coder/code-server/releases/1", "author": {"login": "a", "type": "Bot"},
  "name": "%s", "body": "has {\"name\": \"code-server\", \"digest\": \"sha256:22\"}",
  "assets": [
    {"id": 1, "name": "%s.tar.gz", "label": "", "uploader": {"login": "a"}, "state": "uploaded", "digest": "sha256:%s", "size": 1},
    {
      "id": 2,
      "name": "%s.tar.gz",
      "label": "",
      "uploader": {
        "login": "a"
      },
      "digest": "sha256:%s",
      "size": 2
    }
  ]
}`

// image is a folder for the PATH with what is in every image, and what else is named.
func image(t *testing.T, more ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, tool := range append([]string{"sh", "uname", "mkdir", "rm", "mv", "ln", "tar", "tr", "gzip", "sha256sum"}, more...) {
		found, err := exec.LookPath(tool)
		if tool == "python3" && err == nil { // not a program that only chooses one
			var itself []byte
			itself, err = exec.Command(found, "-c", "import sys; print(sys.executable, end='')").Output()
			found = string(itself)
		}
		if err != nil {
			t.Fatal(err)
		}
		testkit.WriteProgram(t, filepath.Join(dir, tool), "#!/bin/sh\nexec '"+found+"' \"$@\"\n")
	}
	return dir
}

// site serves a release whole, cut, or half of it and then nothing more, and at /tags what
// GitHub tells of it, at /others of releases that are not this one.
func site(t *testing.T) (address string, asked *atomic.Int32) {
	t.Helper()
	machine, err := exec.Command("uname", "-m").Output()
	if err != nil {
		t.Fatal(err)
	}
	name := "code-server-" + Version + "-linux-" + strings.NewReplacer("x86_64", "amd64", "aarch64", "arm64").Replace(strings.TrimSpace(string(machine)))
	data := release(t, name)
	asked = new(atomic.Int32)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sum := fmt.Sprintf("%x", sha256.Sum256(data))
		switch r.URL.Path {
		case "/tags/v" + Version:
			fmt.Fprintf(w, aboutRelease, "v"+Version, strings.ReplaceAll(name, "linux", "macos"), strings.Repeat("0", 64), name, sum)
		case "/others/v" + Version:
			fmt.Fprintf(w, aboutRelease, "v"+Version, strings.ReplaceAll(name, "linux", "macos"), strings.Repeat("0", 64), name, strings.Repeat("1", 64))
		case "/older/v" + Version: // before GitHub had digests
			fmt.Fprintf(w, strings.ReplaceAll(aboutRelease, `"sha256:%s"`, "null%.0s"), "v"+Version, strings.ReplaceAll(name, "linux", "macos"), "", name, "")
		case "/good/v" + Version + "/" + name + ".tar.gz":
			asked.Add(1)
			_, _ = w.Write(data)
		case "/cut/v" + Version + "/" + name + ".tar.gz":
			_, _ = w.Write(data[:len(data)/2])
		case "/stalled/v" + Version + "/" + name + ".tar.gz":
			w.Header().Set("Content-Length", strconv.Itoa(len(data)))
			_, _ = w.Write(data[:len(data)/2])
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL, asked
}

// installation is the script as it runs in a machine. What it starts ends with it.
func installation(t *testing.T, script, home, path string) *exec.Cmd {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(stop)
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script)
	cmd.Env = []string{"HOME=" + home, "PATH=" + path}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// A machine gets a release with whatever its image has to fetch it; one that cannot be
// fetched leaves nothing.
func TestInstallScript(t *testing.T) {
	address, asked := site(t)
	install := func(home, path, from string) (string, error) {
		script := installScript(address+from, address+"/tags", "")
		if from != "/good" { // so that it gives up at once
			script = strings.NewReplacer("limit=60", "limit=1", "again=3", "again=0").Replace(script)
		}
		out, err := installation(t, script, home, path).CombinedOutput()
		return string(out), err
	}
	for _, fetcher := range []string{"curl", "python3"} {
		home, path := filepath.Join(t.TempDir(), "home é"), image(t, fetcher)
		for _, from := range []string{"/nowhere", "/cut", "/stalled"} {
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

// An installation that was killed leaves nothing for ever; one that is at work is let be.
func TestInstallScriptTidies(t *testing.T) {
	address, _ := site(t)
	home, path := filepath.Join(t.TempDir(), "home é"), image(t, "curl")
	lib := filepath.Join(home, ".local", "lib")
	parts := func(pid string) []string {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(lib, ".code-server-*."+pid))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	other := exec.Command("sleep", "3600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	}()
	for _, pid := range []int{other.Process.Pid, 1 << 30} { // another's by now, nobody's
		put := filepath.Join(lib, ".code-server-1.2.3-linux-amd64."+strconv.Itoa(pid), "release")
		if err := os.MkdirAll(put, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	first := installation(t, installScript(address+"/stalled", address+"/tags", ""), home, path)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Cancel() }()
	mine := strconv.Itoa(first.Process.Pid)
	testkit.Eventually(t, "its folder", func() bool { return len(parts(mine)) > 0 })
	if left := parts("*"); len(left) != 1 {
		t.Errorf("left by those before: %v", left)
	}
	if out, err := installation(t, installScript(address+"/good", address+"/tags", ""), home, path).CombinedOutput(); err != nil {
		t.Errorf("beside another: %v: %s", err, out)
	}
	if len(parts(mine)) != 1 {
		t.Error("one that was at work has lost its folder")
	}
	if err := first.Cancel(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	if len(parts(mine)) != 1 {
		t.Error("the one that was killed left nothing")
	}
	if out, err := installation(t, installScript(address+"/nowhere", address+"/tags", ""), home, path).CombinedOutput(); err != nil {
		t.Errorf("where it is installed: %v: %s", err, out)
	}
	if left, err := os.ReadDir(lib); len(left) != 1 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
}

// What comes is compared with what GitHub tells, or with what the user has pinned, and
// what was done is said. Where there is nothing to compare with, that is said.
func TestInstallScriptCompares(t *testing.T) {
	address, _ := site(t)
	ours := regexp.MustCompile(`SHA-256 \(?([0-9a-f]{64})`)
	sum := ""
	for _, c := range []struct {
		tags, pinned string
		tools        []string
		code         int
		says         string
	}{
		{"/nobody", "", []string{"curl"}, 0, "was not compared: GitHub did not tell which it is"},
		{"/older", "", []string{"curl"}, 0, "was not compared: GitHub did not tell which it is"},
		{"/tags", "", []string{"curl"}, 0, "is what GitHub tells: "},
		{"/tags", "", []string{"python3"}, 0, "is what GitHub tells: "},
		{"/others", "", []string{"curl"}, 95, "and GitHub tells 1111"},
		{"/others", "OURS", []string{"curl"}, 0, "is what SEER_CODE_SERVER_SHA256 says: "},
		{"/others", "sha256:" + strings.Repeat("3", 64) + ",OURS", []string{"curl"}, 0, "is what SEER_CODE_SERVER_SHA256 says: "},
		{"/tags", strings.Repeat("3", 64), []string{"curl"}, 95, "and SEER_CODE_SERVER_SHA256 says 3333"},
	} {
		pinned, err := digests(strings.ReplaceAll(c.pinned, "OURS", sum))
		if err != nil {
			t.Fatal(err)
		}
		home := filepath.Join(t.TempDir(), "home é")
		cmd := installation(t, installScript(address+"/good", address+c.tags, pinned), home, image(t, c.tools...))
		out, _ := cmd.CombinedOutput() // its code is looked at
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.says) {
			t.Errorf("%s, pinned %q: code %d, says %s", c.tags, c.pinned, code, out)
		}
		if found := ours.FindSubmatch(out); sum == "" && found != nil {
			sum = string(found[1])
		}
		_, err = os.Stat(filepath.Join(home, ".local", "bin", "code-server"))
		if (err == nil) != (c.code == 0) {
			t.Errorf("%s, pinned %q: there: %v", c.tags, c.pinned, err)
		}
	}
	for _, bad := range []string{"abc", strings.Repeat("g", 64), strings.Repeat("0", 64) + " 1", `"; rm`} {
		if _, err := digests(bad); sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
