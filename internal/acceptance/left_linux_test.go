package acceptance

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// process is one that belongs to a place.
type process struct {
	pid     int
	args    string
	machine string // the key of its sandbox; empty outside
}

// processes finds everything that was started from the place. What runs in a
// sandbox knows nothing of it, but its mounts do.
func (p *place) processes() []process {
	var found []process
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		texts := [][]byte{[]byte(cwd)}
		for _, file := range []string{"cmdline", "environ", "mountinfo"} {
			data, _ := os.ReadFile(filepath.Join(dir, file))
			texts = append(texts, data)
		}
		if pid == os.Getpid() || !bytes.Contains(bytes.Join(texts, nil), []byte(p.base)) {
			continue
		}
		state, _ := os.ReadFile(filepath.Join(dir, "stat"))
		if i := bytes.LastIndexByte(state, ')'); i < 0 || bytes.HasPrefix(state[i+1:], []byte(" Z")) {
			continue // it has ended; its parent has not looked yet
		}
		one := process{pid: pid, args: strings.ReplaceAll(string(texts[1]), "\x00", " ")}
		for _, v := range strings.Split(string(texts[2]), "\x00") {
			if key, ok := strings.CutPrefix(v, "SEER_MACHINE="); ok {
				one.machine = key
			}
		}
		found = append(found, one)
	}
	return found
}

// workers are the Python processes of services.
func (p *place) workers() []process { return p.matching("seer_worker_main.py") }

func (p *place) matching(args string) []process {
	var found []process
	for _, one := range p.processes() {
		if strings.Contains(one.args, args) {
			found = append(found, one)
		}
	}
	return found
}

// nothingRuns waits until no process of the place is left.
func (p *place) nothingRuns() {
	p.t.Helper()
	var left []process
	p.eventually("the end of every process", func() bool {
		left = p.processes()
		if len(left) > 0 && p.t.Failed() {
			return true // said already; do not wait for it
		}
		return len(left) == 0
	})
	for _, one := range left {
		p.t.Errorf("still runs: %d %s", one.pid, clip(one.args))
	}
}

// mayStay is what is no rubbish in the state folder: records of ended sandboxes,
// which are kept for a day, what Seer wrote for the user, that a run was killed, what the
// user has confirmed and run, where runs are, what a writer that was killed has left (for an hour), the
// audit of plugins, lists of models' files, and the places for more.
var mayStay = regexp.MustCompile(`^(.+/\.tmp-[0-9]+|sandboxes(/(lock|owner|starting|sb-[a-z0-9]+\.json))?|local(/(locks|bubblewrap-works|uplink-works))?|models(/[0-9a-f]{64}\.json)?|surfaces(/runs)?(/[0-9a-f]{64}\.json(\.running)?)?|runs(/[^/]+)?|trust(/(confirmed|ran|records)(/[0-9a-f]{64}\.json)?|/id_ed25519(\.lock)?|/signers\.json(\.lock)?)?|plugins(/lock|/audit(/[a-z0-9-]+(/.+)?)?)?)$`)

// nothingLies checks that no file is left but caches and records.
func (p *place) nothingLies() {
	p.t.Helper()
	for folder, allowed := range map[string]*regexp.Regexp{
		p.state():                               mayStay,
		filepath.Join(p.env["XDG_RUNTIME_DIR"]): regexp.MustCompile(`^seer$`),
		p.env["TMPDIR"]:                         regexp.MustCompile(`^$`),
	} {
		_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			rel, _ := filepath.Rel(folder, path)
			if err != nil || rel == "." || allowed.MatchString(rel) {
				return nil // a folder that is not there holds nothing
			}
			p.t.Errorf("left behind: %s", path)
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		})
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || bytes.Contains(mounts, []byte(p.base)) {
		p.t.Errorf("left mounted (%v):\n%s", err, mounts)
	}
}

// age makes what killed and cancelled programs have left two hours old. Only then can nobody
// still be writing their files, and no cloud shows a machine late that they asked for: gc
// removes the former, and looks once for the latter instead of for a minute and a half.
func (p *place) age() {
	then := time.Now().Add(-2 * time.Hour)
	_ = filepath.WalkDir(p.state(), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case strings.HasPrefix(d.Name(), ".tmp-"):
			return os.Chtimes(path, then, then)
		case filepath.Dir(path) == p.state("sandboxes") && strings.HasSuffix(path, ".json"):
			return ageRecord(path, then)
		}
		return nil
	})
}

var askedAt = regexp.MustCompile(`"asked_at": "[^"]*"`)

// ageRecord sets when a provider was last asked for the machine of a record. Of a sandbox
// that lives, and may be written by another program, it changes nothing.
func ageRecord(path string, then time.Time) error {
	data, err := os.ReadFile(path)
	if err != nil || !askedAt.Match(data) || !strings.Contains(string(data), `"ended_at": "`) {
		return err
	}
	return os.WriteFile(path, askedAt.ReplaceAll(data, []byte(`"asked_at": "`+then.Format(time.RFC3339Nano)+`"`)), 0o600)
}

// leave ends everything in the place, as its user would, and checks that this was
// enough.
func (p *place) leave() {
	p.t.Helper()
	defer os.RemoveAll(p.base)
	p.age()
	for _, args := range [][]string{{"down", "--all", "-q"}, {"gc", "-q"}} {
		if r := p.seer(args...).wait(); r.code != 0 {
			p.t.Errorf("seer %v ended with %d: %s", args, r.code, r.err)
		}
	}
	p.nothingRuns()
	p.nothingLies()
}

// String makes failures readable.
func (one process) String() string { return fmt.Sprintf("%d %s", one.pid, clip(one.args)) }
