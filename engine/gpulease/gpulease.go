// Package gpulease shares the GPUs of a computer among all its users. A claim is a file in a
// folder that every user can write to. A claim counts while a process holds the lock on its file,
// so the kernel ends the claim of a killed process. The package trusts only the lock, the owner
// and the name of a file; it checks the content, because any user can write it.
package gpulease

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/sdk/gpu"
)

// GPU is a GPU of the computer, or a part of one that the hardware isolates (MIG).
type GPU struct {
	Index  int
	Name   string // canonical; see package sdk/gpu
	UUID   string // as nvidia-smi reports it
	Memory int64  // bytes; 0 = unknown
}

// Owner is the user and the sandbox that a claim belongs to.
type Owner struct {
	UID     int       `json:"uid"`
	User    string    `json:"user"`
	Sandbox string    `json:"sandbox"`
	Until   time.Time `json:"until,omitzero"` // hard end of the sandbox; zero = none
}

// Wish is a sandbox's request for GPUs.
type Wish struct {
	GPU   string   `json:"gpu"`             // as the user wrote it; see [gpu.Match]
	Exact []string `json:"exact,omitempty"` // only the GPUs with these UUIDs, all of them
	Count int      `json:"count,omitempty"` // 0 = 1
	Share Share    `json:"share,omitzero"`
	// Group lets claims of the same user and group share a whole GPU. A sandbox and its copies
	// are such a group. Empty = no group.
	Group string `json:"group,omitempty"`
}

// Share is the part of a GPU's memory that a sandbox gets. The zero value is the whole GPU, which
// no other sandbox uses.
type Share struct {
	Parts int   `json:"parts,omitempty"` // divisor of the memory, if above 1
	Bytes int64 `json:"bytes,omitempty"` // else an amount
}

// Of is the share of a GPU's memory in bytes; 0 = the whole GPU.
func (s Share) Of(memory int64) int64 {
	if s.Parts > 1 {
		return memory / int64(s.Parts)
	}
	return s.Bytes
}

// Whole reports whether the share is the whole GPU.
func (s Share) Whole() bool { return s.Parts <= 1 && s.Bytes == 0 }

// Use is a GPU with its present users.
type Use struct {
	GPU
	Device
	Claims []Claimed
	Others []Process // without a claim
}

// Claimed is the content of a claim that a process holds.
type Claimed struct {
	Owner
	UUID  string    `json:"gpu"`
	Bytes int64     `json:"bytes,omitempty"` // 0 = the whole GPU
	Group string    `json:"group,omitempty"`
	Since time.Time `json:"since,omitzero"`
}

// idle is the memory in bytes that the driver and a display may use on a GPU on which no program
// computes.
const idle = 2 << 30

// smallest is the least memory in bytes of a process that computes on a GPU.
const smallest = 256 << 20

// foreign is the memory that programs without a claim use.
func (u *Use) foreign() (bytes int64) {
	var claimed int64
	for _, c := range u.Claims {
		claimed += c.Bytes
	}
	for _, p := range u.Others {
		bytes += p.Memory
	}
	return max(bytes, u.Used-claimed-idle)
}

// busy reports whether a program without a claim computes on the GPU.
func (u *Use) busy() bool {
	computes := func(p Process) bool { return p.Memory == 0 || p.Memory >= smallest } // 0 = unknown
	return slices.ContainsFunc(u.Others, computes) || len(u.Claims) == 0 && u.Used > idle
}

// Free is the memory in bytes that is left for shares; 0 if a sandbox has the whole GPU.
func (u *Use) Free() int64 {
	free := u.Memory - u.foreign()
	for _, c := range u.Claims {
		if c.Bytes == 0 {
			return 0
		}
		free -= c.Bytes
	}
	return max(free, 0)
}

// free reports whether the wish can have the GPU, or its share of it, now.
func (w *Wish) free(u *Use, uid int) bool {
	kin := func(c Claimed) bool { return w.Group != "" && c.Group == w.Group && c.UID == uid }
	switch {
	case u.Fault != "":
		return false
	case w.Share.Whole() && len(u.Claims) > 0 && !slices.ContainsFunc(u.Claims, func(c Claimed) bool { return !kin(c) }):
		return true
	case w.Share.Whole():
		return len(u.Claims) == 0 && !u.busy()
	}
	return w.Share.Of(u.Memory) <= u.Free()
}

// could reports whether the wish could have the GPU if it had no users.
func (w *Wish) could(u *Use) bool {
	if len(w.Exact) > 0 {
		return slices.Contains(w.Exact, u.UUID)
	}
	return gpu.Match(strings.TrimSuffix(w.GPU, "!"), u.Name) && w.Share.Of(u.Memory) <= u.Memory
}

func (w *Wish) count() int { return max(1, w.Count, len(w.Exact)) }

// candidates returns the indexes in uses of the GPUs that the wish could have.
func (w *Wish) candidates(uses []Use) (out []int) {
	for i := range uses {
		if w.could(&uses[i]) {
			out = append(out, i)
		}
	}
	return out
}

// pick chooses GPUs for a wish. For a share, it prefers the GPUs with the least free memory, so
// that large free parts remain. It returns nil if fewer GPUs are free than the wish needs.
func (w *Wish) pick(uses []Use, uid int, blocked map[int]bool) []int {
	var out []int
	for _, i := range w.candidates(uses) {
		if !blocked[i] && w.free(&uses[i], uid) {
			out = append(out, i)
		}
	}
	if !w.Share.Whole() {
		slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(uses[a].Free(), uses[b].Free()) })
	}
	if len(out) < w.count() {
		return nil
	}
	return out[:w.count()]
}

// waiting is a wish in the queue.
type waiting struct {
	Wish
	Owner
}

// choose picks GPUs for the last wish after the wishes before it have picked theirs. An earlier
// wish that must wait blocks all its candidates for the later ones.
func choose(uses []Use, before []waiting, last waiting) []int {
	uses, blocked := slices.Clone(uses), map[int]bool{}
	for _, w := range before {
		got := w.pick(uses, w.UID, blocked)
		if got == nil {
			if all := w.candidates(uses); len(all) >= w.count() { // otherwise this computer can never fulfil it
				for _, i := range all {
					blocked[i] = true
				}
			}
			continue
		}
		for _, i := range got {
			u := &uses[i]
			u.Claims = append(slices.Clip(u.Claims), Claimed{Owner: w.Owner, UUID: u.UUID, Bytes: w.Share.Of(u.Memory), Group: w.Group})
		}
	}
	return last.pick(uses, last.UID, blocked)
}

// Available counts the GPUs that a wish for one GPU could have if they had no users, and those
// that it can have now.
func Available(uses []Use, w Wish) (all, free int) {
	for i := range uses {
		if !w.could(&uses[i]) {
			continue
		}
		all++
		if w.free(&uses[i], -1) {
			free++
		}
	}
	return all, free
}

// Pick returns the indexes in uses of the GPUs that a wish would get now; nil = it has to wait. It
// ignores the queue.
func Pick(uses []Use, w Wish) []int { return w.pick(uses, -1, nil) }

// rivals counts the earlier wishes that have a candidate in common with the last one.
func rivals(uses []Use, before []waiting, last waiting) (n int) {
	mine := last.candidates(uses)
	for _, w := range before {
		theirs := w.candidates(uses)
		if len(theirs) >= w.count() && slices.ContainsFunc(theirs, func(i int) bool { return slices.Contains(mine, i) }) {
			n++
		}
	}
	return n
}
