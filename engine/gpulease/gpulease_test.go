package gpulease

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/internal/fakesmi"
	"github.com/seer-engine/seer/internal/testkit"
)

const gib = 1 << 30

// TestMain also runs as the programs of other users.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "take" {
		other(os.Args[2], os.Args[3])
		return
	}
	os.Exit(m.Run())
}

var twoGPUs = []GPU{{Index: 0, Name: "H100-SXM", UUID: "GPU-a", Memory: 80 * gib}, {Index: 1, Name: "L4", UUID: "GPU-b", Memory: 24 * gib}}

// other waits in the queue for a GPU of a name, takes it and keeps it until its input ends.
func other(dir, want string) {
	fail := func(err error) {
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	nothing := func(context.Context) (State, error) { return State{}, nil }
	f, err := Open(Options{Dir: dir, Ask: nothing})
	fail(err)
	w := Wish{GPU: want}
	ticket, err := f.Queue(context.Background(), w, Owner{Sandbox: "other"})
	fail(err)
	fmt.Println("queued")
	for {
		_, err := f.Take(context.Background(), twoGPUs, w, Owner{Sandbox: "other"}, ticket)
		if err == nil {
			break
		}
		if busy := (*BusyError)(nil); !errors.As(err, &busy) {
			fail(err)
		}
		fail(ticket.Wait(context.Background()))
	}
	ticket.Leave()
	fmt.Println("took")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// program is a process that runs [other].
type program struct {
	cmd *exec.Cmd
	out *bufio.Reader
	in  io.WriteCloser
}

func start(t *testing.T, dir, want string, uid uint32) *program {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "take", dir, want)
	cmd.Dir = "/"
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	in, out := testkit.StartPiped(t, cmd)
	p := &program{cmd, bufio.NewReader(out), in}
	t.Cleanup(p.kill)
	return p
}

func (p *program) expect(t *testing.T, want string) {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil || strings.TrimSpace(line) != want {
		t.Fatalf("%q, %v, not %q", line, err, want)
	}
}

func (p *program) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// folder is a shared folder of claims with a fake driver.
func folder(t *testing.T) (*Folder, *fakesmi.SMI) {
	t.Helper()
	smi := fakesmi.New(t, fakesmi.GPU{Index: 0, Name: "NVIDIA H100 80GB HBM3", UUID: "GPU-a", Total: 80 << 10},
		fakesmi.GPU{Index: 1, Name: "NVIDIA L4", UUID: "GPU-b", Total: 24 << 10})
	base, err := os.MkdirTemp("/tmp", "seer-t")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := Open(Options{Dir: filepath.Join(base, "gpus"), Ask: asks(smi)})
	if err != nil {
		t.Fatal(err)
	}
	return f, smi
}

func asks(smi *fakesmi.SMI) Asker {
	return func(ctx context.Context) (State, error) {
		return AskSMI(ctx, func(_ context.Context, args ...string) ([]byte, error) { return smi.Command(args...).Output() })
	}
}

func (f *Folder) try(t *testing.T, w Wish, sandbox string) ([]*Claim, string) {
	t.Helper()
	claims, err := f.Take(t.Context(), twoGPUs, w, Owner{Sandbox: sandbox, Until: time.Now().Add(time.Minute)}, nil)
	if err == nil {
		return claims, ""
	}
	if busy := (*BusyError)(nil); !errors.As(err, &busy) {
		t.Fatal(err)
	}
	return nil, err.Error()
}

func TestOneSandboxForAGPU(t *testing.T) {
	t.Parallel()
	f, _ := folder(t)
	first, why := f.try(t, Wish{GPU: "H100"}, "lab")
	if why != "" || len(first) != 1 || first[0].UUID != "GPU-a" {
		t.Fatal(first, why)
	}
	until := time.Now().Add(time.Minute).Format("15:04")
	_, why = f.try(t, Wish{GPU: "H100"}, "second")
	if want := "1 × H100 requested, 0 of this computer's 1 free; GPU 0 (H100-SXM): sandbox lab of " + f.user(os.Geteuid()) + " until " + until; why != want {
		t.Errorf("%s\nnot\n%s", why, want)
	}
	if _, why = f.try(t, Wish{GPU: "*", Count: 2}, "both"); !strings.HasPrefix(why, "2 × * requested, 1 of this computer's 2 free") {
		t.Error(why)
	}
	End(first)
	if _, why := f.try(t, Wish{GPU: "*", Count: 2}, "both"); why != "" {
		t.Error(why)
	}
}

// Programs without a claim count as users of a GPU.
func TestUsedByOthers(t *testing.T) {
	t.Parallel()
	f, smi := folder(t)
	free := fakesmi.GPU{Index: 1, Name: "NVIDIA L4", UUID: "GPU-b", Total: 24 << 10, Temperature: "[N/A]"}
	h100 := fakesmi.GPU{Index: 0, Name: "NVIDIA H100 80GB HBM3", UUID: "GPU-a", Total: 80 << 10}
	me := os.Getpid()
	for name, tc := range map[string]struct {
		used int
		temp string
		apps []fakesmi.App
		want string // text of the refusal; empty = the wish gets its GPUs
	}{
		"a display":           {used: 900},
		"a small process":     {used: 600, apps: []fakesmi.App{{GPU: "GPU-a", PID: me, Name: "/usr/bin/Xorg", Used: 100}}},
		"another computation": {used: 40000, apps: []fakesmi.App{{GPU: "GPU-a", PID: me, Name: "/usr/bin/python3", Used: 38146}}, want: "GPU 0 (H100-SXM): python3 (pid " + fmt.Sprint(me) + " of " + f.user(os.Geteuid()) + ") uses 40.0 GB, not by Seer"},
		"of unknown size":     {used: 600, apps: []fakesmi.App{{GPU: "GPU-a", PID: 1 << 30, Name: "x", Used: -1}}, want: "x (pid 1073741824), not by Seer"},
		"another container":   {used: 40000, want: "41.9 GB are in use by programs that cannot be seen from here"},
		"on another GPU":      {used: 0, apps: []fakesmi.App{{GPU: "GPU-b", PID: me, Name: "x", Used: 20000}}},
		"after an Xid":        {used: 0, temp: "ERR!", want: "in an error state (nvidia-smi says ERR!); reset it as root: nvidia-smi --gpu-reset -i 0"},
		"lost":                {used: 0, temp: "[GPU is lost]", want: "nvidia-smi says [GPU is lost]"},
	} {
		busy := h100
		busy.Used, busy.Temperature = tc.used, tc.temp
		smi.GPUs(busy, free)
		smi.Apps(tc.apps...)
		claims, why := f.try(t, Wish{GPU: "H100"}, "lab")
		if tc.want == "" && why != "" || !strings.Contains(why, tc.want) || tc.want != "" && why == "" {
			t.Errorf("%s: %s", name, why)
		}
		End(claims)
	}
	smi.Fail("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.")
	if _, err := f.Take(t.Context(), twoGPUs, Wish{GPU: "H100"}, Owner{}, nil); err == nil || !strings.Contains(err.Error(), "cannot tell who uses the GPUs") {
		t.Error(err)
	}
}

func TestNvidiaSMIHangs(t *testing.T) {
	smi := fakesmi.New(t)
	smi.Hang()
	t.Setenv("PATH", smi.Dir+":/usr/bin:/bin")
	if _, err := run(t.Context(), time.Millisecond, []string{"-L"}); err == nil || !strings.Contains(err.Error(), "gave no answer within 1ms") {
		t.Error(err)
	}
}

func TestShares(t *testing.T) {
	t.Parallel()
	f, smi := folder(t)
	quarter := Wish{GPU: "H100", Share: Share{Parts: 4}}
	var all []*Claim
	for i := range 4 {
		claims, why := f.try(t, quarter, fmt.Sprint("s", i))
		if why != "" || claims[0].Bytes != 20*gib {
			t.Fatal(claims, why)
		}
		all = append(all, claims...)
	}
	if _, why := f.try(t, quarter, "fifth"); !strings.HasPrefix(why, "1 × 1/4 of H100 requested, 0 of this computer's 1 free") || !strings.Contains(why, "s3 of") || !strings.Contains(why, "has 21.5 GB") {
		t.Error(why)
	}
	if _, why := f.try(t, Wish{GPU: "H100"}, "whole"); why == "" {
		t.Error("a whole GPU beside shares")
	}
	all[0].Release()
	amount := Wish{GPU: "*", Share: Share{Bytes: 18 * gib}} // fits both, and the H100 has less left
	for _, want := range []string{"GPU-a", "GPU-b"} {
		claims, why := f.try(t, amount, "amount")
		if why != "" || claims[0].UUID != want {
			t.Fatal("not where it fits best:", claims, why)
		}
		all = append(all, claims...)
	}
	if _, why := f.try(t, Wish{GPU: "L4", Share: Share{Bytes: 30 * gib}}, "large"); !strings.Contains(why, "0 of this computer's 0 free") {
		t.Error("more than the GPU has:", why)
	}
	// Memory of other programs is not free.
	End(all)
	smi.GPUs(fakesmi.GPU{Index: 0, Name: "NVIDIA H100 80GB HBM3", UUID: "GPU-a", Total: 80 << 10, Used: 70 << 10})
	if _, why := f.try(t, quarter, "beside"); why == "" {
		t.Error("a quarter of a GPU of which an eighth is free")
	}
}

// A sandbox and its copies share a whole GPU.
func TestGroup(t *testing.T) {
	t.Parallel()
	f, smi := folder(t)
	w := Wish{GPU: "H100", Group: "m1"}
	original, why := f.try(t, w, "original")
	if why != "" {
		t.Fatal(why)
	}
	w.Exact = []string{"GPU-a"}
	copied, why := f.try(t, w, "copy")
	if why != "" {
		t.Error(why)
	}
	// Memory in use after the end of one may belong to the other.
	smi.GPUs(fakesmi.GPU{Name: "NVIDIA H100 80GB HBM3", UUID: "GPU-a", Total: 80 << 10, Used: 60 << 10})
	mine := func(int) bool { return false }
	if what, err := f.Occupied(t.Context(), []Kept{original[0].Kept}, mine); what != "" || err != nil {
		t.Error(what, err)
	}
	End(original)
	if what, err := f.Occupied(t.Context(), []Kept{copied[0].Kept}, mine); err != nil || what != "64.4 GB of the memory of the GPU GPU-a are still in use" {
		t.Error(what, err)
	}
	w.Group = "m2"
	if _, why := f.try(t, w, "stranger"); !strings.HasPrefix(why, "1 × GPU-a requested, 0 of") {
		t.Error(why)
	}
}

// The queue is fair: a later wish overtakes an earlier one only if it takes no GPU from it.
func TestQueueOrder(t *testing.T) {
	t.Parallel()
	uses := []Use{{GPU: GPU{Index: 0, Name: "H100", UUID: "a", Memory: 80 * gib}}, {GPU: GPU{Index: 1, Name: "H100", UUID: "b", Memory: 80 * gib}},
		{GPU: GPU{Index: 2, Name: "L4", UUID: "c", Memory: 24 * gib}}}
	taken := slices.Clone(uses)
	taken[0].Claims = []Claimed{{}}
	wish := func(name string, count int) waiting { return waiting{Wish: Wish{GPU: name, Count: count}} }
	half := waiting{Wish: Wish{GPU: "H100", Share: Share{Parts: 2}}}
	for name, tc := range map[string]struct {
		uses   []Use
		before []waiting
		last   waiting
		want   []int
		ahead  int
	}{
		"nobody before":              {uses, nil, wish("H100", 1), []int{0}, 0},
		"enough for both":            {uses, []waiting{wish("H100", 1)}, wish("H100", 1), []int{1}, 1},
		"the last one":               {taken, []waiting{wish("H100", 1)}, wish("H100", 1), nil, 1},
		"an earlier one wants two":   {taken, []waiting{wish("H100", 2)}, wish("H100", 1), nil, 1},
		"another kind":               {taken, []waiting{wish("H100", 2)}, wish("L4", 1), []int{2}, 0},
		"an impossible wish":         {taken, []waiting{wish("H100", 9), wish("A100", 1)}, wish("H100", 1), []int{1}, 0},
		"halves beside each other":   {taken, []waiting{half}, half, []int{1}, 1},
		"no half before a whole one": {taken, []waiting{wish("H100", 2)}, half, nil, 1},
	} {
		if got := choose(tc.uses, tc.before, tc.last); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, not %v", name, got, tc.want)
		}
		if got := rivals(tc.uses, tc.before, tc.last); got != tc.ahead {
			t.Errorf("%s: %d ahead, not %d", name, got, tc.ahead)
		}
	}
}

// TestKilledHolderAndWaiter kills programs with SIGKILL, also those of another user.
func TestKilledHolderAndWaiter(t *testing.T) {
	t.Parallel()
	f, _ := folder(t)
	uid := uint32(0)
	if os.Geteuid() == 0 {
		uid = 65534
	}
	holder := start(t, f.dir, "H100", uid)
	holder.expect(t, "queued")
	holder.expect(t, "took")
	if _, why := f.try(t, Wish{GPU: "H100"}, "mine"); uid != 0 && !strings.Contains(why, "sandbox other of "+f.user(65534)) || why == "" {
		t.Error(why)
	}
	first := start(t, f.dir, "H100", 0)
	first.expect(t, "queued")
	second := start(t, f.dir, "H100", uid)
	second.expect(t, "queued")
	if _, why := f.try(t, Wish{GPU: "H100"}, "mine"); !strings.Contains(why, "; 2 ahead in the queue") {
		t.Error(why)
	}
	first.kill()
	holder.kill()
	second.expect(t, "took") // not the first, which was killed
	if _, why := f.try(t, Wish{GPU: "H100"}, "mine"); !strings.Contains(why, "sandbox other") {
		t.Error(why)
	}
	_ = second.in.Close()
	_ = second.cmd.Wait()
	if _, why := f.try(t, Wish{GPU: "H100"}, "mine"); why != "" {
		t.Error(why)
	}
}

// A claim survives its first holder if another process holds it.
func TestHandOver(t *testing.T) {
	t.Parallel()
	f, _ := folder(t)
	claims, _ := f.try(t, Wish{GPU: "H100"}, "lab")
	if gone, err := f.LetGo(t.Context(), claims[0]); gone || err != nil {
		t.Fatal("let go of a claim that nobody else holds:", err)
	}
	kept, err := Hold(claims[0].Kept)
	if err != nil {
		t.Fatal(err)
	}
	if gone, err := f.LetGo(t.Context(), claims[0]); !gone || err != nil {
		t.Fatal(gone, err)
	}
	if _, why := f.try(t, Wish{GPU: "H100"}, "second"); why == "" {
		t.Error("the claim is lost")
	}
	kept.Release()
	second, why := f.try(t, Wish{GPU: "H100"}, "second")
	if why != "" {
		t.Error(why)
	}
	End(second)
	// No process held it for a while, and it was removed.
	again, err := Hold(claims[0].Kept)
	if err != nil {
		t.Fatal(err)
	}
	if _, why := f.try(t, Wish{GPU: "H100"}, "second"); !strings.Contains(why, "sandbox lab of") {
		t.Error(why)
	}
	again.Release()
	if _, why := f.try(t, Wish{GPU: "H100"}, "second"); why != "" {
		t.Error(why)
	}
}

// The claim of a sandbox that has ended does not come back beside that of another one.
func TestHoldExisting(t *testing.T) {
	t.Parallel()
	f, _ := folder(t)
	claims, _ := f.try(t, Wish{GPU: "H100"}, "lab")
	held, err := HoldExisting(claims[0].Kept)
	if err != nil {
		t.Fatal(err)
	}
	claims[0].Release()
	if _, why := f.try(t, Wish{GPU: "H100"}, "second"); why == "" {
		t.Error("the claim is lost")
	}
	held.Release()
	if again, err := HoldExisting(claims[0].Kept); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, %v", again, err)
	}
	if _, why := f.try(t, Wish{GPU: "H100"}, "second"); why != "" {
		t.Error(why)
	}
}

// Files of other users count only while a process holds them.
func TestHostileFolder(t *testing.T) {
	t.Parallel()
	f, _ := folder(t)
	put := func(name, content string) string {
		path := filepath.Join(f.dir, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	dead := put("GPU-a-dead.claim", `{"version":1}`)
	put("GPU-a-.claim", "")
	put("000000000000-x.ticket", strings.Repeat("[", 1<<20))
	put("999999999999999999999-x.ticket", `{"version":1,"wish":{"gpu":"*","count":1000000}}`)
	if err := errors.Join(os.Symlink("/etc/passwd", filepath.Join(f.dir, "GPU-a-link.claim")), os.Symlink("/dev/zero", filepath.Join(f.dir, "1-link.ticket")),
		syscall.Mkfifo(filepath.Join(f.dir, "GPU-a-fifo.claim"), 0o644), os.Mkdir(filepath.Join(f.dir, "GPU-a-dir.claim"), 0o755)); err != nil {
		t.Fatal(err)
	}
	claims, why := f.try(t, Wish{GPU: "H100"}, "lab")
	if why != "" {
		t.Fatal(why)
	}
	End(claims)
	if _, err := os.Lstat(dead); err == nil {
		t.Error("a dead claim of the same user was not removed")
	}
	// A held claim with invalid content takes the whole GPU.
	for name, content := range map[string]string{"GPU-a-x.claim": "\x00", "GPU-a-y.claim": `{"version":1,"bytes":-5,"sandbox":"a\u001b[2J` + strings.Repeat("b", 1000) + `"}`, "GPU-a-z.claim": strings.Repeat("9", maxFile+1)} {
		path := put(name, content)
		kept, err := Hold(Kept{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		_, why := f.try(t, Wish{GPU: "H100", Share: Share{Parts: 8}}, "lab")
		if why == "" || strings.Contains(why, "\x1b") || len(why) > 300 {
			t.Errorf("%s: %q", name, why)
		}
		kept.Release()
	}
	// A wish that this computer can never fulfil blocks no other one.
	for _, name := range []string{"000000000000-x.ticket", "999999999999999999999-x.ticket"} {
		if _, err := os.Lstat(filepath.Join(f.dir, name)); err == nil {
			t.Errorf("%s of nobody is left", name)
		}
	}
	put("0-x.ticket", `{"version":1,"wish":{"gpu":"*","count":1000000,"share":{"parts":-1,"bytes":-9}}}`)
	kept, err := Hold(Kept{Path: filepath.Join(f.dir, "0-x.ticket")})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Release()
	if _, why := f.try(t, Wish{GPU: "H100"}, "lab"); why != "" {
		t.Error(why)
	}
}

func TestFolders(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir := func(name string, mode os.FileMode) string {
		path := filepath.Join(top, name)
		if err := errors.Join(os.MkdirAll(path, 0o755), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	own, open, all := dir("own", 0o755), dir("open", 0o777), dir("all", 0o777|os.ModeSticky)
	made := filepath.Join(top, "made")
	if got, err := find(made, []string{own, open, all}); err != nil || got != filepath.Join(all, "seer-gpus") {
		t.Error(got, err)
	}
	if _, err := find(made, []string{own, open}); err == nil || !strings.Contains(err.Error(), "an administrator can make") {
		t.Error(err)
	}
	dir("made", 0o755)
	if got, err := find(made, []string{all}); err != nil || got != made {
		t.Error(got, err)
	}
	if _, err := Open(Options{Dir: made}); err == nil || !strings.Contains(err.Error(), "its mode is 0755 and must be 1777") {
		t.Error(err)
	}
	if err := os.Symlink(all, filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: filepath.Join(top, "link")}); err == nil || !strings.Contains(err.Error(), "it is no folder") {
		t.Error(err)
	}
	if _, err := Open(Options{Dir: filepath.Join(top, "none", "x")}); err == nil {
		t.Error("made a folder in none")
	}
}

// Another program holds the mutex for too long.
func TestMutexIsHeld(t *testing.T) {
	t.Parallel()
	f, _ := folder(t)
	unlock, err := f.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := f.lock(ctx); err == nil || !strings.Contains(err.Error(), "another program holds "+f.dir+"/mutex") {
		t.Error(err)
	}
}

func FuzzNvidiaSMI(f *testing.F) {
	f.Add("GPU-a, 5, 0, 40\nGPU-b, [N/A], [N/A], ERR!\n", "GPU-a, 812, 40000, /usr/bin/python3\n")
	f.Add("x", "No running processes found\n")
	f.Fuzz(func(t *testing.T, gpus, apps string) {
		s, err := parse(gpus, apps)
		if err != nil {
			return
		}
		for uuid, d := range s.Devices {
			if d.Used < 0 || strings.ContainsAny(d.Fault, "\x1b\n") {
				t.Errorf("%s: %+v", uuid, d)
			}
		}
		for _, p := range s.Processes {
			if p.PID <= 0 || p.Memory < 0 || strings.ContainsAny(p.Name, "\x1b\n") {
				t.Errorf("%+v", p)
			}
		}
	})
}

// A full disk leaves no partial claim.
func TestFullDisk(t *testing.T) {
	testkit.OnSmallDisk(t, 64<<10, func(t *testing.T) {
		f, err := Open(Options{Dir: "/mnt/gpus", Ask: func(context.Context) (State, error) { return State{}, nil }})
		if err != nil {
			t.Fatal(err)
		}
		End(must(f.try(t, Wish{GPU: "H100"}, "before"))) // makes the mutex
		if err := os.WriteFile("/mnt/full", make([]byte, 1<<20), 0o600); err == nil {
			t.Fatal("the disk is not full")
		}
		_, err = f.Take(t.Context(), twoGPUs, Wish{GPU: "H100"}, Owner{}, nil)
		if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), "claim a GPU: ") {
			t.Error(err)
		}
		if _, err := f.Queue(t.Context(), Wish{GPU: "H100"}, Owner{}); !errors.Is(err, syscall.ENOSPC) {
			t.Error(err)
		}
		if err := os.Remove("/mnt/full"); err != nil {
			t.Fatal(err)
		}
		if left, err := filepath.Glob("/mnt/gpus/*.*"); err != nil || len(left) != 0 {
			t.Errorf("left are %v, %v", left, err)
		}
		if _, why := f.try(t, Wish{GPU: "H100"}, "after"); why != "" {
			t.Error(why)
		}
	})
}

func must(claims []*Claim, why string) []*Claim {
	if why != "" {
		panic(why)
	}
	return claims
}
