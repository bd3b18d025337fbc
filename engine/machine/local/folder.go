package local

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine/gpulease"
	"github.com/seer-engine/seer/engine/isolation/cgroup"
	"github.com/seer-engine/seer/engine/machine/local/internal/rootfs"
	"github.com/seer-engine/seer/engine/machine/local/proc"
	"github.com/seer-engine/seer/engine/protocol/parking"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// folder is the place of one machine on disk. The note is beside it: it is
// written before the folder is made and removed after it is gone, so that there
// is never a folder that nobody knows.
type folder struct {
	note      string
	root      string // may be a long path
	socketDir string // a short name of root/socket
}

// The folders a machine may write to, and where it sees them.
var writable = map[string]string{
	"/workspace":    "workspace",
	"/tmp":          "tmp",
	"/home/seer":    "home",
	"/run/seer":     "run",
	"/seer/scratch": "scratch",
	"/seer/cache":   "cache",
}

const artifacts = "/seer/runtime" // read-only: the runtime's binaries

func (f folder) path(elem string) string { return filepath.Join(f.root, elem) }

// socket is the address of the machine seen from this computer.
func (f folder) socket() string { return filepath.Join(f.socketDir, "s") }

// adopt gives the socket that the machine listens on a second name that only
// this computer can change: inside, run/s could be replaced by a link to another
// socket of this computer, which would then be sent the admin token.
//
// A machine that was parked has made it anew, and proves that it is its own.
func (f folder) adopt(parked *parkNote) (bool, error) {
	name, inside := filepath.Join(f.path("socket"), "s"), filepath.Join(f.path("run"), "s")
	switch {
	case f.known(parked):
		return true, nil
	case parked != nil && sameFile(inside, name+before) && f.exists("run", "here-"+parked.ID):
		return false, nil // it lets go of it now
	case !isSocket(inside): // somebody may listen in its place
		return parked != nil && isSocket(name) && answers(f.socket()), nil
	case parked == nil:
		return f.take(nil)
	}
	return f.asking(parked)
}

// known reports whether the name is that of the machine's socket.
func (f folder) known(parked *parkNote) bool {
	name := filepath.Join(f.path("socket"), "s")
	switch {
	case !isSocket(name):
		return false
	case parked == nil:
		return true
	case parked.Copy && answers(f.socket()):
		return true
	}
	return sameFile(name, filepath.Join(f.path("run"), "s"))
}

// asking has one program at a time ask a machine to prove itself. The machine may move after
// its first proof, and has to make another socket for the next.
func (f folder) asking(parked *parkNote) (bool, error) {
	lock, held, err := state.TryAcquire(f.path("asking"))
	if err != nil || held {
		return false, err
	}
	defer lock.Release()
	if n, err := f.read(); err != nil {
		return false, err
	} else if n != nil {
		parked = n.Parked // another one may have asked meanwhile
	}
	if f.known(parked) {
		return true, nil
	}
	return f.take(parked)
}

// take gives the socket inside the name that is known outside, by way of another name.
func (f folder) take(parked *parkNote) (bool, error) {
	name, inside := filepath.Join(f.path("socket"), "s"), filepath.Join(f.path("run"), "s")
	part := name + ".adopted"
	_ = os.Remove(part)
	defer os.Remove(part)
	if err := os.Link(inside, part); err != nil {
		return false, fmt.Errorf("adopt the machine's socket: %w", err)
	}
	if !isSocket(part) { // it may have been replaced just before the link
		return false, nil
	}
	if parked != nil {
		switch err := parked.owns(part, f.socket()+".adopted", name); {
		case errors.Is(err, parking.ErrProof):
			return false, errors.New("the machine's socket was made anew by something in the machine; end it")
		case err != nil: // nobody listens yet
			return false, nil
		}
	}
	if err := os.Rename(part, name); err != nil {
		return false, fmt.Errorf("adopt the machine's socket: %w", err)
	}
	if !sameFile(name, name+before) {
		_ = os.Remove(name + before) // so that the watchdog asks the machine again
	}
	return true, nil
}

func isSocket(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().Type() == fs.ModeSocket
}

func (f folder) exists(elem ...string) bool {
	_, err := os.Lstat(filepath.Join(append([]string{f.root}, elem...)...))
	return err == nil
}

func sameFile(one, other string) bool {
	a, err := os.Lstat(one)
	if err != nil {
		return false
	}
	b, err := os.Lstat(other)
	return err == nil && os.SameFile(a, b)
}

// note is what the provider writes down of a machine.
type note struct {
	Key       string           `json:"key"`
	Owner     string           `json:"owner"`
	Computer  proc.Computer    `json:"computer,omitzero"`
	Port      int              `json:"port"`
	Ports     []int            `json:"ports,omitempty"`
	Isolation string           `json:"isolation"`
	Outer     process          `json:"outer,omitzero"` // what was started: bwrap, runsc, or the command itself
	NetProxy  *proxyNote       `json:"gate,omitempty"`
	System    *rootfs.Tree     `json:"system,omitempty"`
	GPUs      []string         `json:"gpus,omitempty"`       // by UUID
	Shares    string           `json:"shares,omitempty"`     // the handle of the original with which a copy shares its GPUs
	Claims    []gpulease.Kept  `json:"gpu_claims,omitempty"` // of GPUs; the watchdog holds them
	Limits    *cgroup.Group    `json:"limits,omitempty"`
	Parked    *parkNote        `json:"parked,omitempty"` // the last time
	CreatedAt time.Time        `json:"created_at"`
	EndUnix   int64            `json:"end_unix,omitempty"` // hard end, which the watchdog keeps; 0 = none
	Spec      *sdk.MachineSpec `json:"spec,omitempty"`     // until it has been started

	claims []*gpulease.Claim // those that this program holds, until the watchdog does
}

// overdue is how long after its end a machine has surely ended by itself.
const overdue = 10 * time.Minute

// elsewhere is the error of a machine that runs on another computer, whose processes cannot be seen
// here. Nobody asks again soon, as for one that is unavailable. Of one that is past its end, only the
// files are left.
func (n *note) elsewhere() error {
	end := time.Unix(n.EndUnix, 0).Add(overdue)
	if !n.Computer.Other(proc.Here()) || n.EndUnix > 0 && time.Now().After(end) {
		return nil
	}
	return sdk.Errorf(sdk.Unsupported, "the machine runs on the computer %s, which shares this folder; use Seer there", n.Computer.Name)
}

// read returns the note, or nil if there is none.
func (f folder) read() (*note, error) {
	data, err := os.ReadFile(f.note)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var n note
	if err := json.Unmarshal(data, &n); err != nil {
		return nil, fmt.Errorf("the note of the machine %s cannot be read: %w", f.note, err)
	}
	return &n, nil
}

func (f folder) write(n *note) error {
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return state.WriteFile(f.note, data, 0o600)
}

// filled are the folders behind those of a spec that files will be put into. The spec gets
// mounts of them.
func (f folder) filled(spec *sdk.MachineSpec) (dirs []string) {
	for i, target := range spec.Folders {
		dirs = append(dirs, fmt.Sprintf("filled/%d", i))
		spec.Mounts = append(spec.Mounts, sdk.Mount{Source: f.path(dirs[i]), Target: target, Writable: true})
	}
	spec.Folders = nil
	return dirs
}

// make makes the folders, and more of them. What an earlier start has left is removed.
func (f folder) make(more ...string) error {
	if err := f.clear(); err != nil {
		return err
	}
	spread(filepath.Dir(f.root))
	dirs := append([]string{"socket", "run/ports", "gvisor"}, more...)
	for _, dir := range writable {
		dirs = append(dirs, dir)
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(f.path(dir), 0o700); err != nil {
			return fmt.Errorf("make the machine's folder: %w", err)
		}
	}
	return nil
}

// link gives the folder of the socket its short name. It is made again whenever
// it is missing: the folder for sockets is emptied at logout. Connections that begin together
// may make it at the same time.
func (f folder) link() error {
	target := f.path("socket")
	if have, err := os.Readlink(f.socketDir); err == nil && have == target {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(f.socketDir), 0o700); err != nil {
		return err
	}
	err := os.Symlink(target, f.socketDir)
	if errors.Is(err, fs.ErrExist) { // it leads elsewhere
		temporary := f.socketDir + "." + rand.Text()
		if err = os.Symlink(target, temporary); err == nil {
			if err = os.Rename(temporary, f.socketDir); err != nil {
				_ = os.Remove(temporary)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("make the name of the machine's socket: %w", err)
	}
	return nil
}

// remove deletes everything; the note goes last.
func (f folder) remove() error {
	if err := os.Remove(f.socketDir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the name of the machine's socket: %w", err)
	}
	if err := f.clear(); err != nil {
		return err
	}
	if err := os.Remove(f.note); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the machine's note: %w", err)
	}
	return nil
}

// clear deletes the folder, including what a program inside made unreadable.
func (f folder) clear() error {
	if err := os.RemoveAll(f.root); err == nil {
		return nil
	}
	if err := unlock(f.root); err != nil {
		return fmt.Errorf("remove the machine's folder: %w", err)
	}
	if err := os.RemoveAll(f.root); err != nil {
		return fmt.Errorf("remove the machine's folder: %w", err)
	}
	return nil
}

// unlock makes all folders below dir accessible. It never leaves dir: a link
// inside may lead anywhere.
func unlock(dir string) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return root.Chmod(path, 0o700)
		}
		return nil
	})
}
