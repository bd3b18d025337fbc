// Package proc finds the processes of the system, and signals and ends trees of them.
package proc

import (
	"cmp"
	"os"
	"slices"
	"syscall"
	"time"
)

// Table is the living processes of the system by pid.
type Table map[int]Entry

// Entry is one process of a [Table].
type Entry struct {
	parent, group int
	threads       int // those that have ended are among them only as the first
	Stopped       bool
}

// Below reports whether pid is one of roots or descends from one.
func (t Table) Below(pid int, roots map[int]bool) bool {
	for range len(t) + 1 { // a changing table may contain a circle
		if roots[pid] {
			return true
		}
		e, ok := t[pid]
		if !ok {
			return false
		}
		pid = e.parent
	}
	return false
}

// ancestors is this process and everything above it: never to be killed.
func (t Table) ancestors() map[int]bool {
	above := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !above[pid]; pid = t[pid].parent {
		above[pid] = true
	}
	return above
}

// Tree finds the processes that belong to a tree: what descends from root,
// what is in its group, what carries the cookie in its environment (a daemon
// that has left both), and what descends from those. A root of 0 is gone.
func Tree(root int, cookie string) ([]int, error) {
	t, err := Read()
	if err != nil {
		return nil, err
	}
	return t.Tree(root, cookie), nil
}

// Tree finds the processes of a tree as the function [Tree] does.
func (t Table) Tree(root int, cookie string) []int {
	spared := t.ancestors()
	roots := map[int]bool{}
	if root > 0 {
		roots[root] = true
	}
	for pid, e := range t {
		if !spared[pid] && ((root > 0 && e.group == root) || (cookie != "" && HasVariable(pid, cookie))) {
			roots[pid] = true
		}
	}
	var found []int
	for pid := range t {
		if !spared[pid] && (root == 1 || t.Below(pid, roots)) { // below process 1 is everything, whatever its parent is said to be
			found = append(found, pid)
		}
	}
	return found
}

// SignalTree sends a signal once to every process of a tree.
func SignalTree(root int, cookie string, sig syscall.Signal) error {
	pids, err := Tree(root, cookie)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig) // it may have ended meanwhile
	}
	return nil
}

// KillTree kills a tree until nothing of it is left: a process may be forking
// while it is looked for. It gives up after a few seconds, when what is left
// does not die of SIGKILL.
func KillTree(root int, cookie string) error {
	for pause := time.Millisecond; pause < 2*time.Second; pause *= 2 {
		pids, err := Tree(root, cookie)
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(pause)
	}
	return nil
}

// Wait waits for the end of a process that is not our child.
func Wait(pid int, cookie string) {
	if waitDescriptor(pid, cookie) {
		return
	}
	for syscall.Kill(pid, 0) == nil && HasVariable(pid, cookie) {
		time.Sleep(50 * time.Millisecond)
	}
}

// TopDown sorts processes so that none comes before its parent.
func (t Table) TopDown(pids []int) []int {
	depth := func(pid int) (n int) {
		for ; n <= len(t); n++ {
			e, ok := t[pid]
			if !ok {
				break
			}
			pid = e.parent
		}
		return n
	}
	depths := map[int]int{}
	for _, pid := range pids {
		depths[pid] = depth(pid)
	}
	slices.SortFunc(pids, func(a, b int) int { return cmp.Or(cmp.Compare(depths[a], depths[b]), cmp.Compare(a, b)) })
	return pids
}

// Continue has processes go on, what they have started first.
func Continue(stopped []int) {
	for _, pid := range slices.Backward(stopped) {
		_ = syscall.Kill(pid, syscall.SIGCONT) // it may have been killed meanwhile
	}
}

// Machine are the processes of the machine: what is below the loader or carries the
// cookie, the runtime, and the loader itself.
func (t Table) Machine(top int, cookie string) map[int]bool {
	roots := map[int]bool{top: true, os.Getpid(): true}
	for pid := range t {
		if cookie != "" && HasVariable(pid, cookie) {
			roots[pid] = true
		}
	}
	found := map[int]bool{}
	for pid := range t {
		if t.Below(pid, roots) {
			found[pid] = true
		}
	}
	return found
}
