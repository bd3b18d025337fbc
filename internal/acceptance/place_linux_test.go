package acceptance

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/internal/testkit"
)

// patience is how long something may take that must come.
const patience = 5 * time.Minute

// place is a user of this computer with a home of their own. Everything that is
// started from it can be told by base: it is in its arguments, its environment or
// its mounts.
type place struct {
	t    *testing.T
	base string
	home string
	work string // where commands are typed
	env  map[string]string
	as   *syscall.Credential // nil = whoever runs the tests
}

// newPlace makes a home. When the test ends, everything is ended by its user, and
// what is then still there fails the test.
func newPlace(t *testing.T) *place {
	t.Helper()
	base, err := os.MkdirTemp("/tmp", "acc") // short, for the paths of sockets
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, base: base, home: filepath.Join(base, "home é ß"), work: filepath.Join(base, "my work 日本")}
	p.env = map[string]string{
		"HOME": p.home, "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "NO_COLOR": "1",
		"XDG_RUNTIME_DIR": filepath.Join(base, "r ü"), "XDG_CACHE_HOME": installed.cache, "TMPDIR": filepath.Join(base, "tmp"),
	}
	if python := os.Getenv("SEER_PYTHON"); python != "" {
		p.env["SEER_PYTHON"] = python
	}
	for _, dir := range []string{p.home, p.work, p.env["XDG_RUNTIME_DIR"], p.env["TMPDIR"]} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.write("exp.yaml", "name: test\nsandbox: {timeout: 10m}\n")
	t.Cleanup(p.leave)
	return p
}

// become makes another user of the place.
func (p *place) become(id uint32) {
	p.t.Helper()
	p.as = &syscall.Credential{Uid: id, Gid: id}
	err := filepath.WalkDir(p.base, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, int(id), int(id)))
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.work, name)
}

func (p *place) write(name, text string) string {
	p.t.Helper()
	path := p.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func (p *place) read(name string) string {
	p.t.Helper()
	data, err := os.ReadFile(p.path(name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

func (p *place) has(name string) bool {
	_, err := os.Lstat(p.path(name))
	return err == nil
}

func (p *place) state(elem ...string) string {
	return filepath.Join(append([]string{p.home, ".local", "state", "seer"}, elem...)...)
}

func (p *place) environ() []string {
	var out []string
	for name, value := range p.env {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}

// command prepares a program that is typed here. Its input is empty. Experiments are the
// user's own, who confirms what they do beyond their folder.
func (p *place) command(argv ...string) *exec.Cmd {
	if len(argv) > 1 && argv[0] == installed.seer && (argv[1] == "run" || argv[1] == "up") {
		argv = slices.Insert(slices.Clone(argv), 2, "--yes")
	}
	cmd := &exec.Cmd{Path: argv[0], Args: argv, Dir: p.work, Env: p.environ()}
	if !strings.Contains(argv[0], "/") {
		cmd = exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = p.work, p.environ()
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.as, Setpgid: true} // a kill of the tests takes no sandbox along
	return cmd
}

// result is how a program ended.
type result struct {
	line     string
	code     int // 128 and the number for a signal
	out, err string
}

// job is a program that runs. Its output goes to files, so that nobody has to
// wait for what a grandchild keeps open.
type job struct {
	p        *place
	cmd      *exec.Cmd
	out, err *os.File
}

func (p *place) start(cmd *exec.Cmd) *job {
	p.t.Helper()
	j := &job{p: p, cmd: cmd}
	j.out, j.err = p.unnamed(), p.unnamed()
	if cmd.Stdout == nil {
		cmd.Stdout = j.out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = j.err
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return j
}

// unnamed is a file that is gone when it is closed.
func (p *place) unnamed() *os.File {
	p.t.Helper()
	f, err := os.CreateTemp("", "seer-acceptance-out-")
	if err != nil {
		p.t.Fatal(err)
	}
	_ = os.Remove(f.Name())
	p.t.Cleanup(func() { f.Close() })
	return f
}

func text(f *os.File) string {
	info, err := f.Stat()
	if err != nil {
		return err.Error()
	}
	data := make([]byte, info.Size())
	n, _ := f.ReadAt(data, 0) // the position is the writer's
	return string(data[:n])
}

func (j *job) said() string { return text(j.out) + text(j.err) }

func (j *job) signal(s syscall.Signal) {
	j.p.t.Helper()
	if err := j.cmd.Process.Signal(s); err != nil {
		j.p.t.Errorf("signal %v: %v", s, err)
	}
}

// over reports whether the program has ended; it may not have been waited for.
func (j *job) over() bool {
	state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", j.cmd.Process.Pid))
	i := strings.LastIndexByte(string(state), ')')
	return i < 0 || strings.HasPrefix(string(state)[i+1:], " Z")
}

// killAfter kills the program after a time, unless it ends before.
func (j *job) killAfter(d time.Duration) (killed bool, r result) {
	j.p.t.Helper()
	kill := time.AfterFunc(d, func() { _ = j.cmd.Process.Kill() })
	defer kill.Stop()
	r = j.wait()
	return r.code == 128+int(syscall.SIGKILL), r
}

// wait returns how the program ended. One that does not end fails the test.
func (j *job) wait() result {
	j.p.t.Helper()
	late := time.AfterFunc(patience, func() {
		j.p.t.Errorf("%v did not end; it said:\n%s", j.cmd.Args, j.said())
		_ = j.cmd.Process.Kill()
	})
	defer late.Stop()
	_ = j.cmd.Wait() // the state tells more
	status := j.cmd.ProcessState.Sys().(syscall.WaitStatus)
	r := result{line: strings.Join(j.cmd.Args, " "), code: status.ExitStatus(), out: text(j.out), err: text(j.err)}
	if status.Signaled() {
		r.code = 128 + int(status.Signal())
	}
	for _, bad := range []string{"goroutine ", "panic:", "%!", "<nil>"} {
		if strings.Contains(r.err, bad) {
			j.p.t.Errorf("%s: stderr has %q:\n%s", r.line, bad, r.err)
		}
	}
	return r
}

// seer starts the program.
func (p *place) seer(args ...string) *job {
	p.t.Helper()
	return p.start(p.command(append([]string{installed.seer}, args...)...))
}

// exits runs the program, which must end with the code and say the words.
func (p *place) exits(code int, args []string, words ...string) result {
	p.t.Helper()
	r := p.seer(args...).wait()
	p.check(r, code, words...)
	return r
}

func (p *place) check(r result, code int, words ...string) {
	p.t.Helper()
	if r.code != code {
		p.t.Errorf("%s\nended with %d, want %d\nstdout: %s\nstderr: %s", r.line, r.code, code, clip(r.out), clip(r.err))
		return
	}
	for _, w := range words {
		if !strings.Contains(r.out+r.err, w) {
			p.t.Errorf("%s\ndid not say %q\nstdout: %s\nstderr: %s", r.line, w, clip(r.out), clip(r.err))
		}
	}
}

func clip(s string) string {
	if len(s) > 3000 {
		return s[:1500] + "\n…\n" + s[len(s)-1500:]
	}
	return s
}

// ok runs the program, which must succeed, and returns its stdout.
func (p *place) ok(args ...string) string {
	p.t.Helper()
	r := p.seer(args...).wait()
	if r.code != 0 {
		p.t.Fatalf("%s\nended with %d\nstdout: %s\nstderr: %s", r.line, r.code, clip(r.out), clip(r.err))
	}
	return strings.TrimSpace(r.out)
}

// up makes a sandbox with a name.
func (p *place) up(name string, more ...string) {
	p.t.Helper()
	p.ok(append([]string{"up", "exp.yaml", "--name", name, "-q"}, more...)...)
}

// sandbox is what `seer ls --json` tells.
type sandbox struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	State string `json:"state"`
}

func (p *place) ls(more ...string) []sandbox {
	p.t.Helper()
	var all []sandbox
	if err := json.Unmarshal([]byte(p.ok(append([]string{"ls", "--json"}, more...)...)), &all); err != nil {
		p.t.Fatal(err)
	}
	return all
}

// eventually polls for what must come.
func (p *place) eventually(what string, done func() bool) {
	p.t.Helper()
	testkit.Eventually(p.t, what, done)
}
