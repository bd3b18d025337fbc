// Package gpulease shares the GPUs of a computer among all its users. A claim is a file in a
// folder that all of them write to. It counts as long as a process holds the lock on it, so
// that the kernel frees the GPU of whatever was killed. Nothing else that is written there is
// trusted.
package gpulease

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/sdk/gpu"
)

// GPU is one of the computer's, or a part of one that the hardware keeps apart (MIG).
type GPU struct {
	Index  int
	Name   string // canonical; see package sdk/gpu
	UUID   string // as nvidia-smi says it
	Memory int64  // bytes; 0 = not known
}

// Owner is for whom a GPU is claimed.
type Owner struct {
	UID     int       `json:"uid"`
	User    string    `json:"user"`
	Sandbox string    `json:"sandbox"`
	Until   time.Time `json:"until,omitzero"` // hard end of the sandbox; zero = none
}

// Wish is what a sandbox wants of GPUs.
type Wish struct {
	GPU   string   `json:"gpu"`             // as the user wrote it; see [gpu.Match]
	Exact []string `json:"exact,omitempty"` // only the GPUs with these UUIDs, all of them
	Count int      `json:"count,omitempty"` // 0 = 1
	Share Share    `json:"share,omitzero"`
	// Group lets the claims of one user that have it share a GPU that is theirs alone. A
	// sandbox and its copies are one.
	Group string `json:"group,omitempty"`
}

// Share is how much of the memory of a GPU a sandbox gets. The zero value is the whole GPU,
// for it alone.
type Share struct {
	Parts int   `json:"parts,omitempty"` // the memory is divided by it
	Bytes int64 `json:"bytes,omitempty"` // or an amount
}

// Of is the share of a GPU's memory in bytes; 0 = the whole GPU.
func (s Share) Of(memory int64) int64 {
	if s.Parts > 1 {
		return memory / int64(s.Parts)
	}
	return s.Bytes
}

// Whole reports whether the GPU is for one sandbox alone.
func (s Share) Whole() bool { return s.Parts <= 1 && s.Bytes == 0 }

// Use is a GPU and who uses it now.
type Use struct {
	GPU
	Device
	Claims []Claimed
	Others []Process // that belong to no claim
}

// Claimed is a claim that a living process holds.
type Claimed struct {
	Owner
	UUID  string    `json:"gpu"`
	Bytes int64     `json:"bytes,omitempty"` // 0 = the whole GPU
	Group string    `json:"group,omitempty"`
	Since time.Time `json:"since,omitzero"`
}

// idle is the memory of a GPU that may be in use although nobody computes on it: by the
// driver, and by a display.
const idle = 2 << 30

// smallest is what a process on a GPU takes at least, once it computes there.
const smallest = 256 << 20

// foreign is the memory that others than the claims use.
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

// busy reports whether somebody without a claim computes on the GPU.
func (u *Use) busy() bool {
	computes := func(p Process) bool { return p.Memory == 0 || p.Memory >= smallest } // 0 = not known
	return slices.ContainsFunc(u.Others, computes) || len(u.Claims) == 0 && u.Used > idle
}

// Free is the memory that a share may have; 0 for a GPU that one sandbox has alone.
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

// free reports whether the wish can have the GPU, or its part of it.
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

// could reports whether the wish could have the GPU if nobody used it.
func (w *Wish) could(u *Use) bool {
	if len(w.Exact) > 0 {
		return slices.Contains(w.Exact, u.UUID)
	}
	return gpu.Match(strings.TrimSuffix(w.GPU, "!"), u.Name) && w.Share.Of(u.Memory) <= u.Memory
}

func (w *Wish) count() int { return max(1, w.Count, len(w.Exact)) }

// candidates are the places in uses of the GPUs that the wish could have.
func (w *Wish) candidates(uses []Use) (out []int) {
	for i := range uses {
		if w.could(&uses[i]) {
			out = append(out, i)
		}
	}
	return out
}

// pick chooses GPUs for a wish: of shares those that fit best, so that large pieces stay. It
// returns nil where it cannot have as many as it wants.
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

// choose picks GPUs for the last wish after those before it have picked theirs. One of them
// that cannot have what it wants now keeps the GPUs that it waits for from the later ones.
func choose(uses []Use, before []waiting, last waiting) []int {
	uses, blocked := slices.Clone(uses), map[int]bool{}
	for _, w := range before {
		got := w.pick(uses, w.UID, blocked)
		if got == nil {
			if all := w.candidates(uses); len(all) >= w.count() { // else it waits in vain
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

// Available says how many GPUs a wish for one could have if nobody used them, and how many now.
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

// Pick says which GPUs a wish would get now, as places in uses; nil = it has to wait.
func Pick(uses []Use, w Wish) []int { return w.pick(uses, -1, nil) }

// rivals counts those before that want one of the GPUs that the last one could have.
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
