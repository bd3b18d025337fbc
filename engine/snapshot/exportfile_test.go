package snapshot_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/snapshot"
)

// stallVariable has the test binary export into a file and stop in the middle of it.
const stallVariable = "SEER_TEST_EXPORT"

// stalling says how far it is, and then waits for ever.
type stalling struct{ to io.Writer }

func (s stalling) Write(p []byte) (int, error) {
	n, _ := s.to.Write(p[:len(p)/2])
	if _, err := os.Stdout.WriteString("in the middle\n"); err != nil {
		return n, err
	}
	select {}
}

// Whoever is killed in the middle of an export leaves nothing, neither a half file nor, where
// files without a name can be, one with another name, and what was there is as it was.
func TestExportIsKilled(t *testing.T) {
	if dir := os.Getenv(stallVariable); dir != "" {
		s := &snapshot.Store{Dir: filepath.Join(dir, "store")}
		t.Fatal(s.ExportFile(t.Context(), "one", filepath.Join(dir, "out", "one.tar"), func(w io.Writer) io.Writer { return stalling{w} }))
	}
	top := t.TempDir()
	s := &snapshot.Store{Dir: filepath.Join(top, "store")}
	save(t, s, "one", file("f", noise(t, 1<<20)))
	out := filepath.Join(top, "out")
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	path, nameless := filepath.Join(out, "one.tar"), snapshot.Nameless(out)
	for _, before := range []string{"", "what was there"} {
		if before != "" {
			if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		killed(t, top)
		if data, _ := os.ReadFile(path); string(data) != before {
			t.Errorf("there are %d bytes under the final name", len(data))
		}
		for _, name := range namesIn(t, out) {
			switch {
			case name == "one.tar" && before != "":
			case nameless || !strings.HasPrefix(name, ".seer-"):
				t.Errorf("left: %s", name)
			case os.Remove(filepath.Join(out, name)) != nil:
				t.Errorf("%s cannot be removed", name)
			}
		}
		if err := s.ExportFile(t.Context(), "one", path, nil); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		info, serr := os.Stat(path)
		if err != nil || serr != nil || string(data) != string(exported(t, s, "one")) || info.Mode() != 0o644 || len(namesIn(t, out)) != 1 {
			t.Errorf("exported again: %d bytes, %v, %v: %s", len(data), err, info, namesIn(t, out))
		}
	}
	for ref, to := range map[string]string{"none": path, "one": out, "two": filepath.Join(out, "none", "x")} {
		if err := s.ExportFile(t.Context(), ref, to, nil); err == nil || len(namesIn(t, out)) != 1 {
			t.Errorf("%s to %s: %v, %s", ref, to, err, namesIn(t, out))
		}
	}
}

// killed exports in another process, which is killed when it is in the middle.
func killed(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestExportIsKilled$")
	cmd.Env = append(os.Environ(), stallVariable+"="+dir)
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err != nil || !strings.HasPrefix(line, "in the middle") {
		t.Fatalf("it said %q: %v", line, err)
	}
}

func namesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
