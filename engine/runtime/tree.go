package runtime

import (
	"os"
	"syscall"
	"time"
)

// table is the living processes of the system by pid.
type table map[int]tableEntry

type tableEntry struct {
	parent, group int
	threads       int // those that have ended are among them only as the first
	stopped       bool
}

// below reports whether pid is one of roots or descends from one.
func (t table) below(pid int, roots map[int]bool) bool {
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
func (t table) ancestors() map[int]bool {
	above := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !above[pid]; pid = t[pid].parent {
		above[pid] = true
	}
	return above
}

// treeOf finds the processes that belong to a tree: what descends from root,
// what is in its group, what carries the cookie in its environment (a daemon
// that has left both), and what descends from those. A root of 0 is gone.
func treeOf(root int, cookie string) ([]int, error) {
	t, err := processTable()
	if err != nil {
		return nil, err
	}
	return t.tree(root, cookie), nil
}

func (t table) tree(root int, cookie string) []int {
	spared := t.ancestors()
	roots := map[int]bool{}
	if root > 0 {
		roots[root] = true
	}
	for pid, e := range t {
		if !spared[pid] && ((root > 0 && e.group == root) || (cookie != "" && hasVariable(pid, cookie))) {
			roots[pid] = true
		}
	}
	var found []int
	for pid := range t {
		if !spared[pid] && (root == 1 || t.below(pid, roots)) { // below process 1 is everything, whatever its parent is said to be
			found = append(found, pid)
		}
	}
	return found
}

// signalTree sends a signal once to every process of a tree.
func signalTree(root int, cookie string, sig syscall.Signal) error {
	pids, err := treeOf(root, cookie)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig) // it may have ended meanwhile
	}
	return nil
}

// killTree kills a tree until nothing of it is left: a process may be forking
// while it is looked for. It gives up after a few seconds, when what is left
// does not die of SIGKILL.
func killTree(root int, cookie string) error {
	for pause := time.Millisecond; pause < 2*time.Second; pause *= 2 {
		pids, err := treeOf(root, cookie)
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
