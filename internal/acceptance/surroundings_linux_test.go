package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
)

// sh runs a line of a shell, with $SEER as the program.
func (p *place) sh(line string) result {
	p.t.Helper()
	cmd := p.command("/bin/sh", "-c", line)
	cmd.Env = append(cmd.Env, "SEER="+installed.seer)
	return p.start(cmd).wait()
}

// TestOrdinaryUser does the main job without root's rights.
func TestOrdinaryUser(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.env["XDG_CACHE_HOME"] = filepath.Join(p.home, ".cache") // nobody else's
	delete(p.env, "XDG_RUNTIME_DIR")                          // as after su
	p.write("tools.py", "import os\n\n@expose\ndef who():\n    return [os.getuid(), os.listdir('/home')]\n")
	p.write("agent.py", "import tools\nassert tools.who() == [1000, ['seer']], tools.who()\nopen('outputs/fine', 'w').close()\n")
	p.write("run.yaml", "name: test\nsandbox: {timeout: 10m}\nserve: [{file: tools.py}]\nworkspace: {files: [agent.py]}\nagent: {command: [python3, agent.py]}\n")
	if os.Geteuid() == 0 {
		p.become(65534)
	}
	p.env["XDG_RUNTIME_DIR"] = filepath.Join(p.base, "r ü")
	p.exits(0, []string{"run", "run.yaml"}, "isolation bubblewrap")
	if !p.has("runs/latest/outputs/fine") {
		t.Error("the outputs were not collected")
	}
	p.up("lab")
	p.ok("serve", "lab", "tools.py", "--as", "mcp", "--out", "out")
	p.ok("call", "lab", "tools.who")
	p.exits(0, []string{"doctor"}, "ok  isolation bubblewrap")
	p.ok("down", "lab")
}

// TestStreamsThatAreNotThere: no terminal, no input, no reader.
func TestStreamsThatAreNotThere(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.up("lab")
	for _, line := range []string{
		`"$SEER" ls <&-`,
		`"$SEER" ls >&-`,
		`"$SEER" ls 2>&-`,
		`"$SEER" ls <&- >&- 2>&-`,
		`"$SEER" exec lab -- echo hello <&-`,
		`"$SEER" exec lab -- cat <&-`,
		`setsid -w "$SEER" ls`,
		`nohup "$SEER" show lab`,
		`id=$("$SEER" up exp.yaml -q) && "$SEER" down "$id"`, // a sandbox does not keep the pipe open
		`"$SEER" up exp.yaml --name piped 2>&1 | cat && "$SEER" down piped`,
	} {
		r := p.sh(line)
		if r.code != 0 {
			t.Errorf("%s ended with %d: %s%s", line, r.code, r.out, r.err)
		}
	}
	for _, line := range []string{`"$SEER" ls | head -n 0`, `"$SEER" ls --json | true`, `"$SEER" exec lab -- seq 300000 | head -n 1`, `"$SEER" show lab | head -c 1`} {
		if r := p.sh(line); r.err != "" {
			t.Errorf("%s says %s", line, r.err)
		}
	}
	for _, command := range []string{"--help", "show lab", "usage lab", "config schema"} {
		if r := p.sh(`"$SEER" ` + command + ` > /dev/full`); r.code != 14 || strings.Count(r.err, "no space") != 1 {
			t.Errorf("seer %s to a full disk: %d\n%s", command, r.code, r.err)
		}
	}
	if r := p.sh(`"$SEER" ls > /dev/full`); r.code != 14 || !strings.Contains(r.err, "space") {
		t.Errorf("a full disk under stdout: %d %s", r.code, r.err)
	}
}

// TestFoldersThatCannotBe: no home, one that is not the user's, one that cannot be
// written.
func TestFoldersThatCannotBe(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.check(p.sh(`env -i "$SEER" version`), 0)
	p.check(p.sh(`env -i "$SEER" ls`), 3, "HOME", "XDG_STATE_HOME")
	p.check(p.sh(`env -i HOME=relative "$SEER" ls`), 3, "HOME")
	p.check(p.sh(`XDG_STATE_HOME=relative "$SEER" ls`), 3, "XDG_STATE_HOME")
	p.check(p.sh(`"$SEER" ls --state-dir /proc/nothing`), 3, "/proc/nothing")
	p.check(p.sh(`"$SEER" ls --state-dir exp.yaml`), 3, "exp.yaml")
	p.check(p.sh(`"$SEER" ls --state-dir "a new one" && test -d "a new one"`), 0)
}

// TestPortThatIsTaken is found before anything starts.
func TestPortThatIsTaken(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	port := fmt.Sprint(testkit.FreePort(t)) // the sandbox takes it when this test has given it up
	l := testkit.Listen(t, "tcp", "127.0.0.1:"+port)
	p.write("ports.yaml", "name: test\nsandbox:\n  network: host\n  ports: ["+port+"]\n")
	p.exits(3, []string{"up", "ports.yaml"}, "ports.yaml:4", "port "+port)
	if left := p.ls("--all"); len(left) > 0 {
		t.Errorf("a record was made: %v", left)
	}
	// A network of its own has the port free, and another one outside leads to it.
	p.write("own.yaml", "name: test\nsandbox:\n  network: none\n  ports: ["+port+"]\n")
	p.exits(0, []string{"up", "own.yaml"}, "port "+port+" of the sandbox is at http://127.0.0.1:")
	l.Close()
	p.ok("up", "ports.yaml", "-q")
}

// TestOneNameAtTheSameTime: of several that want one name at once, one gets it and
// the others leave nothing.
func TestOneNameAtTheSameTime(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var jobs []*job
	for range 4 {
		jobs = append(jobs, p.seer("up", "exp.yaml", "--name", "lab", "-q"))
	}
	codes := map[int]int{}
	for _, j := range jobs {
		r := j.wait()
		codes[r.code]++
		if r.code == 12 && !strings.Contains(r.err, `the name "lab" is taken`) {
			t.Errorf("it said %s", r.err)
		}
	}
	if codes[0] != 1 || codes[12] != 3 {
		t.Errorf("exit codes and how often: %v", codes)
	}
	if all := p.ls(); len(all) != 1 || all[0].Name != "lab" {
		t.Errorf("ls tells of %+v", all)
	}
}
