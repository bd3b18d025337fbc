package acceptance

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// small runs a line of a shell on a computer on which the folder is a disk of its
// own, of the given size and with nothing else different.
func (p *place) small(folder, size, line string) result {
	p.t.Helper()
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		p.t.Fatal("unshare is needed for this test: apt-get install util-linux")
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		p.t.Fatal(err)
	}
	args := []string{unshare, "--mount", "--propagation", "private"}
	if os.Geteuid() != 0 {
		args = append(args, "--user", "--map-root-user")
	}
	args = append(args, "/bin/sh", "-c", `mount -t tmpfs -o mode=700,size=`+size+` none "$FOLDER" && cd . && `+line)
	cmd := p.command(args...)
	cmd.Env = append(cmd.Env, "FOLDER="+folder, "SEER="+installed.seer)
	r := p.start(cmd).wait()
	r.line = line
	return r
}

// fill is a shell command that leaves some KiB of the disk free.
const fill = `dd if=/dev/zero of="$FOLDER/fill" bs=1k count=100000 2>/dev/null; `

// TestFullDisk: wherever it is full, that is said with its code, and nothing stays.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("big.bin", strings.Repeat("0123456789abcdef", 1<<17)) // 2 MB
	p.write("tools.py", "@expose\ndef write():\n    with open('/workspace/x', 'wb') as f:\n        f.write(bytes(20_000_000))\n")
	p.write("agent.py", "print('x' * 2_000_000, flush=True)\nprint('goes on', flush=True)\nwith open('outputs/big', 'wb') as f:\n    f.write(bytes(3_000_000))\n")
	p.write("fills.py", "try:\n    with open('data', 'wb', buffering=0) as f:\n        while True: f.write(bytes(4096))\nexcept OSError as e: print(e)\n")
	p.write("whole.yaml", "name: test\nsandbox: {timeout: 10m, execution_mode: cli}\nworkspace: {files: [fills.py]}\nagent: {command: [python3, fills.py]}\n")
	p.write("run.yaml", "name: test\nsandbox: {timeout: 10m}\nworkspace: {files: [agent.py]}\nagent: {command: [python3, agent.py]}\n")

	// The state folder, before the start.
	r := p.small(p.state(), "64k", fill+`"$SEER" up exp.yaml`)
	p.check(r, 14, "space")
	p.nothingRuns()
	r = p.small(p.state(), "64k", fill+`"$SEER" run run.yaml`)
	p.check(r, 14, "space")
	p.nothingRuns()

	// The sandbox's own disk: a file, what a command writes, what a function writes.
	r = p.small(p.state(), "8m", `"$SEER" up exp.yaml --name lab -q && "$SEER" serve lab tools.py --out "$TMPDIR/out" -q && {
		for i in 1 2 3 4 5; do "$SEER" cp big.bin lab:$i.bin; echo "cp $?"; done
		"$SEER" call lab tools.write; echo "call $?"
		"$SEER" exec lab -- true; echo "exec $?"
		"$SEER" down lab; echo "down $?"
		ls -A "$FOLDER/local"; rm -rf "$TMPDIR/out"; }`)
	p.check(r, 0, "cp 14", "disk is full", "No space left on device", "call 8", "down 0")
	p.nothingRuns()

	// The workspace, and the outputs: what the agent made stays where it is.
	r = p.small(p.path("workspace"), "64k", fill+`"$SEER" run run.yaml`)
	p.check(r, 14, "space", "workspace")
	r = p.small(p.path("runs"), "64k", fill+`"$SEER" run run.yaml`)
	p.check(r, 14, "space", "the folder of the runs")
	if strings.Contains(r.err, "ready") || strings.Count(r.err, "no space") != 1 {
		t.Errorf("a sandbox was made for results without a place, or it is said more than once:\n%s", r.err)
	}
	r = p.small(p.path("runs"), "1m", `"$SEER" run run.yaml`)
	p.check(r, 14, "goes on", "space", "still there", "agent.log lacks")
	if info, err := os.Stat(p.path("workspace/outputs/big")); err != nil || info.Size() != 3_000_000 {
		t.Errorf("the agent's result: %v, %v", info, err)
	}
	p.nothingRuns()
	// Where an agent works in the sandbox itself, that stays with what is nowhere else.
	r = p.small(p.path("workspace"), "1m", `"$SEER" run whole.yaml`)
	p.check(r, 14, "is kept", "space")
	if left := p.ls(); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	p.ok("down", "--all")
	// The cache only makes things slower.
	r = p.small(installed.cache, "64k", fill+`"$SEER" up exp.yaml --name lab -q && "$SEER" serve lab tools.py --out "$TMPDIR/out" -q && "$SEER" down lab; echo "code $?"; rm -rf "$TMPDIR/out"`)
	p.check(r, 0, "code 0")
	// What is written for an agent.
	p.up("lab")
	r = p.small(p.path("full"), "64k", fill+`"$SEER" serve lab tools.py --out full`)
	p.check(r, 14, "space")
	r = p.small(p.path("full"), "64k", fill+`"$SEER" cp lab:/usr/bin/python3.11 full/x; code=$?; ls full; exit $code`)
	p.check(r, 14, "space")
	if strings.Contains(r.out, "x") {
		t.Errorf("a part of a file is left: %s", r.out)
	}
	if left := p.ls(); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}
