package batchjob

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local/watchdog"
	"github.com/seer-engine/seer/engine/pipe"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// TestMain makes the test binary double as seer-runtime.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 2 && os.Args[1] == "job":
		os.Exit(Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	case len(os.Args) == 3 && os.Args[1] == "watchdog":
		os.Exit(watchdog.Main(os.Args[2], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// program answers on its socket, beside a child that has left its tree.
const program = `
import json, os, socket, subprocess
subprocess.Popen(["sleep", "600"], start_new_session=True)
s = socket.socket(socket.AF_UNIX)
path = json.loads(os.environ["SEER_BOOT"])["listen"][5:]
os.chdir(os.path.dirname(path)); s.bind("s"); s.listen(8)
while True:
    c, _ = s.accept()
    try:
        c.sendall(b"hello")
    except OSError:
        pass
    c.close()
`

// started is a job as a cluster starts it.
type started struct {
	dir, node string
	cmd       *exec.Cmd
	ended     chan error
}

func start(t *testing.T, change func(*sdk.MachineSpec)) *started {
	t.Helper()
	base, err := os.MkdirTemp("", "j") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	j := &started{dir: filepath.Join(base, "shared"), node: filepath.Join(base, "n"), ended: make(chan error, 1)}
	spec := sdk.MachineSpec{
		Key: "seer-" + filepath.Base(base), Owner: "own-1", Name: "box", Port: 7070, Isolation: isolation.None, EndUnix: time.Now().Add(time.Hour).Unix(),
		Command: []string{"python3", "-c", program}, Env: map[string]string{"SEER_BOOT": `{"listen":"unix:/s","admin_sha256":"00"}`},
	}
	if change != nil {
		change(&spec)
	}
	data, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(j.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(j.dir, SpecName), data, 0o600); err != nil {
		t.Fatal(err)
	}
	j.cmd = exec.Command("/proc/self/exe", "job", serveArg, j.dir)
	j.cmd.Env = append(os.Environ(), NodeDirVariable+"="+j.node)
	j.cmd.Stderr = os.Stderr
	if err := j.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { j.ended <- j.cmd.Wait() }()
	t.Cleanup(func() {
		_ = j.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		testkit.Eventually(t, "the end of the folder", func() bool { _, err := os.Lstat(j.node); return os.IsNotExist(err) })
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	return j
}

func (j *started) state() (o sdk.Observation) {
	data, err := os.ReadFile(filepath.Join(j.dir, StateName))
	if err != nil || json.Unmarshal(data, &o) != nil {
		return sdk.Observation{}
	}
	return o
}

func (j *started) await(t *testing.T, want sdk.State, message string) sdk.Observation {
	t.Helper()
	testkit.Eventually(t, string(want), func() bool { return j.state().State == want })
	if o := j.state(); !strings.Contains(o.Message, message) {
		t.Errorf("%+v", o)
	}
	return j.state()
}

// endsWell waits for the end of the job, and of all that it has made.
func (j *started) endsWell(t *testing.T, want sdk.State, message string) {
	t.Helper()
	if err := <-j.ended; err != nil {
		t.Error(err)
	}
	j.await(t, want, message)
	j.gone(t)
}

// gone waits until the job has left nothing.
func (j *started) gone(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, "the end of the folder", func() bool { _, err := os.Lstat(j.node); return os.IsNotExist(err) })
	testkit.Eventually(t, "the end of the processes", func() bool {
		files, _ := filepath.Glob("/proc/[0-9]*/[ce][mn][dv]*") // cmdline and environ
		for _, file := range files {
			if data, err := os.ReadFile(file); err == nil && strings.Contains(string(data), j.node) {
				return false
			}
		}
		return len(files) > 0
	})
}

func TestJobIsAskedToEnd(t *testing.T) {
	t.Parallel()
	for _, signals := range [][]syscall.Signal{{syscall.SIGTERM}, {syscall.SIGUSR1, syscall.SIGTERM}} { // the limit is near, but not there
		j := start(t, nil)
		o := j.await(t, sdk.Running, "")
		if o.Isolation != isolation.None || len(o.Endpoints) != 1 || !strings.HasPrefix(o.Endpoints[0].URL, "unix:"+j.node) {
			t.Errorf("%+v", o)
		}
		if got := through(t, j.dir, o.Endpoints[0].URL); got != "hello" {
			t.Errorf("the machine said %q", got)
		}
		if got := through(t, j.dir, "unix:/run/elsewhere"); !strings.Contains(got, "no address of the job's machine") {
			t.Errorf("elsewhere: %q", got)
		}
		for _, sig := range signals {
			if err := j.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
		}
		j.endsWell(t, sdk.Stopped, "asked the job to end")
	}
}

// through is what a target says by way of `job connect`.
func through(t *testing.T, dir, target string) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "job", connectArg, dir)
	in, out := testkit.StartPiped(t, cmd)
	session, err := pipe.Begin(pipe.Stdio(out, in))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close(); _ = cmd.Wait() }()
	conn, err := session.Open(context.Background(), target)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	said, err := io.ReadAll(conn)
	if err != nil {
		t.Error(err)
	}
	return string(said)
}

// TestTimeBeginsWithTheJob is of a machine that has waited in a queue for no known time.
func TestTimeBeginsWithTheJob(t *testing.T) {
	t.Parallel()
	began := time.Now()
	j := start(t, func(s *sdk.MachineSpec) { s.EndUnix, s.TimeoutSeconds = 0, 5 })
	j.await(t, sdk.Running, "")
	data, err := os.ReadFile(filepath.Join(j.dir, EndName))
	end, err2 := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil || err2 != nil || end < began.Unix()+5 || end > time.Now().Unix()+5 {
		t.Errorf("its end is %q, %v, %v", data, err, err2)
	}
	j.endsWell(t, sdk.Stopped, "")
}

// TestJobIsKilled kills Seer's program in the job: the guard ends all else.
func TestJobIsKilled(t *testing.T) {
	t.Parallel()
	j := start(t, nil)
	j.await(t, sdk.Running, "")
	if err := j.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	j.await(t, sdk.Failed, "the job was killed")
	j.gone(t)
}

func TestMachineEndsByItself(t *testing.T) {
	t.Parallel()
	j := start(t, func(s *sdk.MachineSpec) { s.Command = []string{"python3", "-c", "print('no'); raise SystemExit(3)"} })
	j.endsWell(t, sdk.Failed, "it ended")
}

func TestJobCannotMakeIt(t *testing.T) {
	t.Parallel()
	j := start(t, func(s *sdk.MachineSpec) { s.Network = "none" }) // which needs isolation
	if err := <-j.ended; err == nil {
		t.Error("it ended well")
	}
	if o := j.await(t, sdk.Failed, "network none"); o.Code != sdk.Unsupported {
		t.Errorf("%+v", o)
	}
	j.gone(t)
}

func TestGPUsOfTheJob(t *testing.T) {
	t.Parallel()
	found := []isolation.GPU{{Index: 0, UUID: "GPU-aa"}, {Index: 1, UUID: "GPU-bb"}, {Index: 2, UUID: "GPU-cc"}}
	for names, want := range map[string]string{
		"": "", "1": "GPU-bb", "0,2": "GPU-aa GPU-cc", "GPU-c": "GPU-cc", "NoDevFiles": "", "7": "", "5,6,7": "GPU-aa GPU-bb GPU-cc",
	} {
		var got []string
		for _, g := range visible(found, names) {
			got = append(got, g.UUID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v", names, got)
		}
	}
}
