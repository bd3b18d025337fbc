package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const top = "/sys/fs/cgroup"

// Find says where the groups of a command are to be: below those of this process in
// version 1, below the nearest that hands its controllers down in version 2. It makes
// nothing. It returns nil without limits, and with a warning where none can be kept.
func Find(name string, l Limits) (*Group, string) {
	own, _ := os.ReadFile("/proc/self/cgroup")
	return find(name, l.wanted(), top, string(own))
}

func find(name string, wanted []string, root, own string) (*Group, string) {
	if len(wanted) == 0 {
		return nil, ""
	}
	g := &Group{Folders: map[string]string{}}
	unified := ""
	for line := range strings.Lines(own) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		if parts[0] == "0" {
			unified = parts[2]
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			if slices.Contains(wanted, controller) {
				g.place(controller, root, parts[2], name)
			}
		}
	}
	if len(g.Folders) == 0 {
		g = findUnified(name, wanted, root, unified)
	}
	missing := wanted
	if g != nil {
		missing = slices.DeleteFunc(slices.Clone(wanted), g.keeps)
	}
	if len(missing) == 0 {
		return g, ""
	}
	return g, unlimited(missing, errors.New("this computer hands down no control group for that"))
}

func (g *Group) place(controller, root, path, name string) {
	parent := filepath.Join(root, controller, path)
	if _, err := os.Stat(parent); err != nil {
		parent = filepath.Join(root, controller) // a container shows its own part only
	}
	if _, err := os.Stat(parent); err == nil {
		g.Folders[controller] = filepath.Join(parent, name)
	}
}

// findUnified prefers the nearest group that hands down all controllers to one that
// hands down some.
func findUnified(name string, wanted []string, root, path string) *Group {
	var some *Group
	for dir := filepath.Join(root, path); ; dir = filepath.Dir(dir) {
		data, _ := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
		have := slices.DeleteFunc(slices.Clone(wanted), func(c string) bool { return !slices.Contains(strings.Fields(string(data)), c) })
		if len(have) == len(wanted) {
			return &Group{Unified: filepath.Join(dir, name)}
		}
		if len(have) > 0 && some == nil {
			some = &Group{Unified: filepath.Join(dir, name), Only: have}
		}
		if len(dir) <= len(root) {
			return some
		}
	}
}

// keeps reports whether the groups have a controller.
func (g *Group) keeps(controller string) bool {
	if g.Unified != "" {
		return len(g.Only) == 0 || slices.Contains(g.Only, controller)
	}
	return g.Folders[controller] != ""
}

// Make makes the groups and sets their limits.
func (g *Group) Make(l Limits) error {
	memory, quota, processes := strconv.FormatInt(l.Memory, 10), strconv.FormatInt(int64(l.CPU*100000), 10), strconv.Itoa(l.Processes)
	if g.Unified == "" {
		files := map[string][2]string{
			"memory": {"memory.limit_in_bytes", memory}, "cpu": {"cpu.cfs_quota_us", quota}, "pids": {"pids.max", processes},
		}
		for controller, dir := range g.Folders {
			if err := set(dir, files[controller][0], files[controller][1]); err != nil {
				return err
			}
			if controller == "memory" {
				if err := swap(dir, "memory.memsw.limit_in_bytes", memory); err != nil {
					return err
				}
			}
		}
		return nil
	}
	files := map[string][2]string{"memory": {"memory.max", memory}, "cpu": {"cpu.max", quota + " 100000"}, "pids": {"pids.max", processes}}
	for _, controller := range l.wanted() {
		if !g.keeps(controller) {
			continue
		}
		if err := set(g.Unified, files[controller][0], files[controller][1]); err != nil {
			return err
		}
		if controller == "memory" {
			if err := swap(g.Unified, "memory.swap.max", "0"); err != nil {
				return err
			}
		}
	}
	return nil
}

func set(dir, name, value string) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600)
}

// swap limits swap, which is memory, too, where the kernel counts it.
func swap(dir, name, value string) error {
	err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// Full reports whether the kernel has ended processes of the command as its memory was full,
// and not that of the whole computer, of which the group counts the victims, too.
func (g *Group) Full() bool {
	switch {
	case g == nil:
		return false
	case g.Unified != "":
		events := filepath.Join(g.Unified, "memory.events")
		return counted(events, "oom_kill ") > 0 && counted(events, "oom ") > 0
	case g.Folders["memory"] != "":
		dir := g.Folders["memory"]
		most, limit := counted(filepath.Join(dir, "memory.max_usage_in_bytes"), ""), counted(filepath.Join(dir, "memory.limit_in_bytes"), "")
		// A charge of some pages at once does not fit a little before the limit.
		return most+1<<20 >= limit && counted(filepath.Join(dir, "memory.oom_control"), "oom_kill ") > 0
	}
	return false
}

// MemoryLeft is how many bytes the command may take until its limit; false = it has none.
func (g *Group) MemoryLeft() (int64, bool) {
	var dir, limit, used string
	switch {
	case g == nil || !g.keeps("memory"):
		return 0, false
	case g.Unified != "":
		dir, limit, used = g.Unified, "memory.max", "memory.current"
	default:
		dir, limit, used = g.Folders["memory"], "memory.limit_in_bytes", "memory.usage_in_bytes"
	}
	most := counted(filepath.Join(dir, limit), "")
	if most == 0 { // max
		return 0, false
	}
	stat := filepath.Join(dir, "memory.stat")
	cache := counted(stat, "active_file ") + counted(stat, "inactive_file ") // which the kernel drops first
	return int64(most - counted(filepath.Join(dir, used), "") + cache), true
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

// Start starts a command in the groups: it is in them before it runs. The calling
// goroutine has its thread to itself, as within isolation.Thread. A nil group
// starts it as it is.
func (g *Group) Start(cmd *exec.Cmd) error {
	if g == nil {
		return cmd.Start()
	}
	if g.Unified != "" {
		dir, err := os.Open(g.Unified)
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
	// The thread goes into the groups, where its children are born, and leaves again.
	thread := []byte(strconv.Itoa(unix.Gettid()))
	enter := func(dir string) error { return os.WriteFile(filepath.Join(dir, "tasks"), thread, 0o600) }
	defer func() {
		for _, dir := range g.Folders {
			_ = enter(filepath.Dir(dir)) // otherwise it ends with its goroutine
		}
	}()
	for _, dir := range g.Folders {
		if err := enter(dir); err != nil {
			return fmt.Errorf("enter the control group %s: %w", dir, err)
		}
	}
	return cmd.Start()
}

// Remove removes the groups of a command that has ended.
func (g *Group) Remove() error {
	if g == nil {
		return nil
	}
	var errs []error
	for _, dir := range g.Folders {
		errs = append(errs, rmdir(dir))
	}
	if g.Unified != "" {
		errs = append(errs, rmdir(g.Unified))
	}
	return errors.Join(errs...)
}

// Sweep removes what programs that were killed have left beside the group: empty groups
// whose names are prefix, the number of a process that has ended, a dash and more.
func (g *Group) Sweep(prefix string) {
	if g == nil {
		return
	}
	for _, dir := range append(slices.Collect(maps.Values(g.Folders)), g.Unified) {
		if dir == "" {
			continue
		}
		entries, _ := os.ReadDir(filepath.Dir(dir))
		for _, entry := range entries {
			rest, ours := strings.CutPrefix(entry.Name(), prefix)
			number, _, _ := strings.Cut(rest, "-")
			pid, err := strconv.Atoi(number)
			if ours && err == nil && pid > 0 && errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
				_ = unix.Rmdir(filepath.Join(filepath.Dir(dir), entry.Name())) // refused while processes are in it
			}
		}
	}
}

func rmdir(dir string) error {
	if err := unix.Rmdir(dir); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove the control group %s: %w", dir, err)
	}
	return nil
}

// ComputerMemory is the memory of this computer, in bytes.
func ComputerMemory() (int64, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0, fmt.Errorf("ask for the memory of this computer: %w", err)
	}
	return int64(info.Totalram) * int64(info.Unit), nil //nolint:unconvert // its type differs
}
