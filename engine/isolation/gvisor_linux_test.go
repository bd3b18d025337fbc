package isolation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// image makes a small image out of some programs of this computer.
func image(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "an image, with é: and more")
	for _, sub := range []string{"bin", "etc", "opt", "root", "var/lib", "usr/share"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sh", "ls", "cat", "id", "rm", "mkdir", "chown", "sleep", "ln", "touch", "stat"} {
		program, err := systemTool(name)
		if err != nil {
			t.Fatal(err)
		}
		libraries, err := exec.Command("/usr/bin/ldd", program).Output()
		if err != nil {
			t.Fatal(err)
		}
		copyInto(t, program, filepath.Join(dir, "bin", name))
		for _, word := range strings.Fields(string(libraries)) {
			if strings.HasPrefix(word, "/") {
				copyInto(t, word, filepath.Join(dir, word))
			}
		}
	}
	testkit.WriteFiles(t, dir, map[string]string{
		"etc/marker": "the image's\n", "opt/old": "old\n", "opt/gone": "gone\n", "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nubuntu:x:1000:1000::/home/ubuntu:/bin/sh\n",
	})
	if err := os.Symlink("/run", filepath.Join(dir, "var/run")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func copyInto(t *testing.T, from, to string) {
	t.Helper()
	testkit.WriteProgram(t, to, testkit.ReadFile(t, from))
}

// listing is every name below a folder, with its size and time.
func listing(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("/usr/bin/find", dir, "-printf", "%P %s %m %T@\n").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestImage(t *testing.T) { each(t, imageIn) }

func imageIn(t *testing.T, kind string) {
	img, work := image(t), t.TempDir()
	before := listing(t, img)
	if err := os.WriteFile(filepath.Join(work, "file"), []byte("of work\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	spec := Spec{
		Root: Root{Image: img}, Env: map[string]string{"PATH": "/bin"}, Dir: "/workspace",
		Mounts: []sdk.Mount{
			{Source: work, Target: "/workspace", Writable: true}, {Source: work, Target: "/models/a/b"},
			{Source: work, Target: "/opt/in/it"}, {Source: filepath.Join(work, "file"), Target: "/usr/share/one"},
		},
	}
	got := inside(t, kind, spec, `id -un; id -u; cat /etc/marker /models/a/b/file /opt/in/it/file /usr/share/one /opt/old; touch new && ls; touch /opt/x /etc/x /x 2>&1 | { n=0; while read -r l; do n=$((n+1)); done; echo $n; }; touch /tmp/x /home/seer/x && echo own; cat /etc/hosts; ls /usr/bin 2>&1`)
	want := "seer\n1000\nthe image's\nof work\nof work\nof work\nold\nfile\nnew\n3\nown\n127.0.0.1 localhost seer\n::1 localhost\nls: "
	if !strings.HasPrefix(got, want) {
		t.Errorf("inside:\n%s", got)
	}
	if after := listing(t, img); after != before {
		t.Errorf("the image was changed from\n%s\nto\n%s", before, after)
	}
	bad := spec
	bad.Mounts = []sdk.Mount{{Source: work, Target: "/var/run/x"}}
	bad.Argv = []string{"/bin/sh"}
	if _, err := prepare(t, kind, bad); sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), "/var/run is a link") {
		t.Errorf("through a link: %v", err)
	}
	bad.Root.Image = filepath.Join(work, "none")
	if _, err := prepare(t, kind, bad); sdk.CodeOf(err) != sdk.NotFound {
		t.Errorf("no image: %v", err)
	}
}

// box is a sandbox that runs until the test has ended.
type box struct {
	cmd   *exec.Cmd
	state string
}

// start runs a script and waits until it says "ready".
func start(t *testing.T, kind string, spec Spec, script string) *box {
	t.Helper()
	if spec.State == "" {
		spec.State = t.TempDir()
	}
	spec.Argv = []string{"/bin/sh", "-c", script}
	cmd, err := prepare(t, kind, spec)
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = w, w, &syscall.SysProcAttr{Setsid: true}
	if err := Thread(kind, cmd.Start); err != nil {
		t.Fatal(err)
	}
	Release(cmd)
	b := &box{cmd: cmd, state: spec.State}
	t.Cleanup(func() { b.kill(); _ = r.Close() })
	_ = r.SetReadDeadline(time.Now().Add(60 * time.Second))
	var said bytes.Buffer
	for !bytes.Contains(said.Bytes(), []byte("ready\n")) {
		buf := make([]byte, 4096)
		n, err := r.Read(buf)
		said.Write(buf[:n])
		if err != nil {
			t.Fatalf("it did not become ready: %v\n%s", err, said.String())
		}
	}
	return b
}

func (b *box) kill() {
	// Bubblewrap only waits for its child, which takes everything inside along.
	pid := b.cmd.Process.Pid
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for child := range strings.FieldsSeq(string(children)) {
		if n, err := strconv.Atoi(child); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	}
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait()
}

// using are the processes that carry a word in their command line.
func using(t *testing.T, word string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && bytes.Contains(data, []byte(word)) {
			found = append(found, strings.ReplaceAll(string(data), "\x00", " "))
		}
	}
	return found
}

// waitForUnused waits until no process carries a word in its command line.
func waitForUnused(t *testing.T, word string) {
	t.Helper()
	testkit.EventuallyNil(t, "the end of all processes", func() error {
		if left := using(t, word); len(left) > 0 {
			return fmt.Errorf("running: %v", left)
		}
		return nil
	})
}

// What was started is all that has to be killed.
func TestGVisorDiesWithItsProcess(t *testing.T) {
	for name, spec := range map[string]Spec{"plain": {}, "writable": {Root: Root{Image: image(t), Writable: true}}} {
		t.Run(name, func(t *testing.T) {
			work := t.TempDir()
			spec.Mounts = []sdk.Mount{{Source: work, Target: "/workspace", Writable: true}}
			b := start(t, GVisor, spec, "(sleep 1000 &); setsid sleep 1000 & sleep 1000 & echo ready; sleep 1000")
			if len(using(t, b.state)) < 3 {
				t.Errorf("running: %v", using(t, b.state))
			}
			b.kill()
			waitForUnused(t, b.state)
			if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || bytes.Contains(mounts, []byte(b.state)) {
				t.Errorf("mounts are left: %v", err)
			}
			if err := os.RemoveAll(b.state); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestGVisorChangesAreKept(t *testing.T) {
	img := image(t)
	before := listing(t, img)
	root := Root{Image: img, Writable: true}
	env := map[string]string{"PATH": "/bin:/usr/bin"}
	b := start(t, GVisor, Spec{Root: root, Env: env}, `set -e; cd /opt; echo new >new; chown 42:43 new; rm gone; rm /etc/marker; ln -s new link; ln new twin; mkdir -p /srv/deep
		rm -r /var/lib; mkdir /var/lib; echo x >/var/lib/x; echo more >>old; : >"é and space"; echo ready; sleep 1000`)
	var layer bytes.Buffer
	if err := SaveRoot(t.Context(), b.state, &layer); err != nil {
		t.Fatal(err)
	}
	b.kill()
	if after := listing(t, img); after != before {
		t.Errorf("the image was changed")
	}
	for _, name := range []string{"opt/.wh.gone", "etc/.wh.marker", "var/lib/.wh..wh..opq", "opt/new", "opt/é and space"} {
		if !strings.Contains(strings.Join(names(t, layer.Bytes()), "\n")+"\n", name+"\n") {
			t.Errorf("%s is not in the layer: %v", name, names(t, layer.Bytes()))
		}
	}
	file := filepath.Join(t.TempDir(), "layer.tar")
	if err := os.WriteFile(file, layer.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	root.Layers = []string{file}
	script := `cd /opt; ls; cat old new link twin; stat -c "%u:%g %h" new; ls /etc/marker 2>&1; ls /var/lib /srv`
	got := inside(t, GVisor, Spec{Root: root, Env: env}, script)
	want := "link\nnew\nold\ntwin\né and space\nold\nmore\nnew\nnew\nnew\n42:43 2\nls: cannot access '/etc/marker': No such file or directory\n/srv:\ndeep\n\n/var/lib:\nx"
	if strings.ReplaceAll(got, "'$'\\303\\251'' and space'", "é and space") != want && !strings.Contains(got, "42:43 2") {
		t.Errorf("with the layer:\n%s", got)
	}
	for _, line := range strings.Split(want, "\n") {
		if !strings.Contains(line, "é") && !strings.Contains("\n"+got+"\n", "\n"+line+"\n") {
			t.Errorf("%q is missing in:\n%s", line, got)
		}
	}
	if strings.Contains(got, "gone") {
		t.Errorf("it is back:\n%s", got)
	}
}

func names(t *testing.T, data []byte) (out []string) {
	t.Helper()
	for h := range entries(t, data) {
		out = append(out, h.Name)
	}
	return out
}

// This computer's own system can be changed, too, as far as the sandbox sees it:
// a package is installed, and is there again with the layer.
func TestGVisorInstallsAPackage(t *testing.T) {
	work := t.TempDir()
	for name, content := range map[string]string{
		"deb/DEBIAN/control":        "Package: seer-test\nVersion: 1.0\nArchitecture: all\nMaintainer: x <x@example.org>\nDescription: none\n",
		"deb/DEBIAN/postinst":       "#!/bin/sh\nset -e\nchown 42:daemon /usr/bin/seer-test\nrm -f /usr/share/zoneinfo/UTC\nln -s /bin/true /etc/alternatives/seer-test\nrm /etc/ssl/certs/ca-certificates.crt\n",
		"deb/usr/bin/seer-test":     "#!/bin/sh\necho installed\n",
		"deb/etc/seer-test.conf":    "x\n",
		"deb/var/lib/seer-test/é x": "x\n",
	} {
		file := filepath.Join(work, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("/usr/bin/dpkg-deb", "--root-owner-group", "-b", filepath.Join(work, "deb"), filepath.Join(work, "p.deb")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	spec := Spec{
		Root: Root{Writable: true}, Env: map[string]string{"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"},
		Mounts: []sdk.Mount{{Source: work, Target: "/workspace", Writable: true}},
	}
	b := start(t, GVisor, spec, `set -e; id -un; dpkg -i /workspace/p.deb 2>&1; touch /tmp/junk; ! cat /etc/shadow /root/.profile 2>/dev/null; echo ready; sleep 1000`)
	file := filepath.Join(t.TempDir(), "layer.tar")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := SaveRoot(t.Context(), b.state, out); err != nil {
		t.Fatal(err)
	}
	b.kill()
	spec.Root.Layers = []string{file}
	script := `seer-test; ls /etc/alternatives/seer-test /etc/ssl/certs/ca-certificates.crt; stat -c %U:%G /usr/bin/seer-test 2>&1; dpkg -s seer-test | grep Status; ls /usr/share/zoneinfo/UTC "/var/lib/seer-test/é x" /tmp 2>&1 | tr -d "'"`
	got := inside(t, GVisor, spec, script)
	for _, want := range []string{"installed\n", ":daemon\n", "/etc/alternatives/seer-test\n", "Status: install ok installed\n", "cannot access /usr/share/zoneinfo/UTC", "/var/lib/seer-test/é x\n"} {
		if !strings.Contains(got+"\n", want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "junk") {
		t.Errorf("what was in /tmp is back:\n%s", got)
	}
	for _, path := range []string{"/usr/bin/seer-test", "/etc/seer-test.conf", "/var/lib/seer-test"} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is on this computer", path)
		}
	}
	if _, err := os.Stat("/usr/share/zoneinfo/UTC"); err != nil {
		t.Error(err)
	}
}

func TestGVisorRefuses(t *testing.T) {
	used := t.TempDir()
	if err := os.Mkdir(filepath.Join(used, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, spec := range map[string]Spec{
		"no state":         {},
		"missing state":    {State: "/nowhere/at/all"},
		"used state":       {State: used},
		"layers read-only": {State: t.TempDir(), Root: Root{Layers: []string{"x"}}},
		"no such layer":    {State: t.TempDir(), Root: Root{Writable: true, Layers: []string{"/nowhere"}}},
		"variable":         {State: t.TempDir(), Env: map[string]string{"A=B": ""}},
		"over the system":  {State: t.TempDir(), Mounts: []sdk.Mount{{Source: used, Target: "/usr"}}},
		"no such source":   {State: t.TempDir(), Mounts: []sdk.Mount{{Source: "/nowhere", Target: "/x"}}},
		"no device":        {State: t.TempDir(), Devices: []string{"/dev/nvidia77"}},
		"other file":       {State: t.TempDir(), Devices: []string{"/etc/passwd"}},
		"disk":             {State: t.TempDir(), Devices: []string{"/dev/../etc/shadow"}},
	} {
		spec.Argv, spec.Places = []string{"/bin/true"}, places()
		if _, err := Command(GVisor, spec); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if err := SaveRoot(t.Context(), t.TempDir(), io.Discard); sdk.CodeOf(err) != sdk.NotFound {
		t.Errorf("save nothing: %v", err)
	}
}

// A trial that is cancelled leaves neither processes nor folders.
func TestGVisorCancelledDetect(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for after := time.Duration(0); after < 400*time.Millisecond; after += 50 * time.Millisecond {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		detectGVisor(ctx, places())
		cancel()
	}
	waitForUnused(t, dir)
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestGVisorReasons(t *testing.T) {
	none := func(string) string { return "" }
	for want, out := range map[string]string{
		"too old (flag provided but not defined: -host-uds); install a newer one": "usage\nflag provided but not defined: -host-uds",
		"util-linux is too old":                      "unshare: unrecognized option '--map-user=1000'",
		"does not work here: running container: odd": "noise\nrunning container: odd\n",
		"does not work here: exit status 9":          "",
	} {
		got, missing := explainGVisor(out, errors.New("exit status 9"), none)
		if !strings.Contains(got, want) || missing != strings.Contains(want, "install a newer one") {
			t.Errorf("%q (missing: %v) does not say %q", got, missing, want)
		}
	}
	off := func(name string) string {
		if name == "user/max_user_namespaces" {
			return "0"
		}
		return ""
	}
	if got, missing := explainGVisor("x", errors.New("x"), off); missing || !strings.Contains(got, "sysctl -w user.max_user_namespaces=15000") {
		t.Error(got)
	}
	if found := detectGVisor(t.Context(), nil); !found.Usable && !found.Missing {
		t.Errorf("%+v", found)
	}
}
