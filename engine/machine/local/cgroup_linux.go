package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/sdk"
)

const cgroups = "/sys/fs/cgroup"

// limits are the control groups that keep a machine's memory and processor time.
type limits struct {
	Unified string            `json:"unified,omitempty"` // version 2: one folder
	Folders map[string]string `json:"folders,omitempty"` // version 1: controller → folder
}

// limitsFor says where the groups of a machine are to be, nil if it wants none.
func limitsFor(handle string, spec *sdk.MachineSpec, root string, own []byte) (*limits, error) {
	var wanted []string
	if spec.MemoryGB > 0 {
		wanted = append(wanted, "memory")
	}
	if spec.CPU > 0 {
		wanted = append(wanted, "cpu")
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	l := &limits{Folders: map[string]string{}}
	unified := ""
	for _, line := range strings.Split(string(own), "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			continue
		}
		if parts[0] == "0" {
			unified = parts[2]
		}
		for _, controller := range strings.Split(parts[1], ",") {
			if parent := filepath.Join(root, controller, parts[2]); slices.Contains(wanted, controller) {
				if _, err := os.Stat(parent); err != nil {
					parent = filepath.Join(root, controller) // a container shows its own part only
				}
				l.Folders[controller] = filepath.Join(parent, "seer-"+handle)
			}
		}
	}
	if len(l.Folders) == len(wanted) {
		return l, nil
	}
	if len(l.Folders) > 0 {
		return nil, errors.New("only some of this computer's control groups are there")
	}
	for dir := filepath.Join(root, unified); ; dir = filepath.Dir(dir) { // the nearest that hands its controllers down
		have, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
		if err == nil && hasAll(string(have), wanted) {
			return &limits{Unified: filepath.Join(dir, "seer-"+handle)}, nil
		}
		if len(dir) <= len(root) {
			return nil, fmt.Errorf("this computer hands down no control group for %s", strings.Join(wanted, " and "))
		}
	}
}

func hasAll(have string, wanted []string) bool {
	for _, w := range wanted {
		if !strings.Contains(" "+strings.TrimSpace(have)+" ", " "+w+" ") {
			return false
		}
	}
	return true
}

// make makes the groups.
func (l *limits) make(spec *sdk.MachineSpec) error {
	memory, quota := strconv.FormatInt(int64(spec.MemoryGB*(1<<30)), 10), strconv.FormatInt(int64(spec.CPU*100000), 10)
	set := func(dir string, values map[string]string) error {
		if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
			return err
		}
		for name, value := range values {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600); err != nil {
				return err
			}
		}
		return nil
	}
	// Swap is memory, too, where the kernel counts it.
	swap := func(dir, name, value string) error {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
		return nil
	}
	for controller, dir := range l.Folders {
		values := map[string]string{"memory.limit_in_bytes": memory}
		if controller == "cpu" {
			values = map[string]string{"cpu.cfs_quota_us": quota}
		}
		if err := set(dir, values); err != nil {
			return err
		}
		if controller == "memory" {
			if err := swap(dir, "memory.memsw.limit_in_bytes", memory); err != nil {
				return err
			}
		}
	}
	if l.Unified == "" {
		return nil
	}
	values := map[string]string{}
	if spec.MemoryGB > 0 {
		values["memory.max"] = memory
	}
	if spec.CPU > 0 {
		values["cpu.max"] = quota + " 100000"
	}
	if err := set(l.Unified, values); err != nil || spec.MemoryGB == 0 {
		return err
	}
	return swap(l.Unified, "memory.swap.max", "0")
}

// full reports whether the kernel has ended processes of the machine as its memory was full,
// and not that of the whole computer, of which the group counts the victims, too.
func (l *limits) full() bool {
	switch {
	case l == nil:
		return false
	case l.Unified != "":
		events := filepath.Join(l.Unified, "memory.events")
		return counted(events, "oom_kill ") > 0 && counted(events, "oom ") > 0
	case l.Folders["memory"] != "":
		dir := l.Folders["memory"]
		most, limit := counted(filepath.Join(dir, "memory.max_usage_in_bytes"), ""), counted(filepath.Join(dir, "memory.limit_in_bytes"), "")
		// A charge of some pages at once does not fit a little before the limit.
		return most+1<<20 >= limit && counted(filepath.Join(dir, "memory.oom_control"), "oom_kill ") > 0
	}
	return false
}

// counted is the number behind a word in a file of a group, which may be gone.
func counted(path, word string) int {
	data, _ := os.ReadFile(path)
	for line := range strings.Lines(string(data)) {
		if count, ok := strings.CutPrefix(line, word); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(count))
			return n
		}
	}
	return 0
}

// start starts a command in the groups: it is in them before it runs.
func (l *limits) start(cmd *exec.Cmd) error {
	if l == nil {
		return cmd.Start()
	}
	if l.Unified != "" {
		dir, err := os.Open(l.Unified)
		if err != nil {
			return err
		}
		defer dir.Close()
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(dir.Fd())
		return cmd.Start()
	}
	done := make(chan error)
	go func() { done <- l.startV1(cmd) }()
	return <-done
}

// startV1 puts its thread into the groups, whose children are born there. A thread that
// cannot leave them again ends with the goroutine, which has it to itself.
func (l *limits) startV1(cmd *exec.Cmd) (err error) {
	runtime.LockOSThread()
	thread := []byte(strconv.Itoa(unix.Gettid()))
	for _, dir := range l.Folders {
		if err = os.WriteFile(filepath.Join(dir, "tasks"), thread, 0o600); err != nil {
			break
		}
	}
	if err == nil {
		err = cmd.Start()
	}
	for _, dir := range l.Folders {
		if os.WriteFile(filepath.Join(filepath.Dir(dir), "tasks"), thread, 0o600) != nil {
			return err
		}
	}
	runtime.UnlockOSThread()
	return err
}

// remove removes the groups of a machine that has ended.
func (l *limits) remove() error {
	if l == nil {
		return nil
	}
	var errs []error
	for _, dir := range l.Folders {
		errs = append(errs, rmdir(dir))
	}
	if l.Unified != "" {
		errs = append(errs, rmdir(l.Unified))
	}
	return errors.Join(errs...)
}

func rmdir(dir string) error {
	if err := unix.Rmdir(dir); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove the control group %s: %w", dir, err)
	}
	return nil
}
