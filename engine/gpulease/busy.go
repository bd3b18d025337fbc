package gpulease

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/internal/text"
)

// BusyError is the error of a wish that cannot have its GPUs now.
type BusyError struct {
	Want  Wish
	Uses  []Use // the GPUs that the wish could have
	Free  int   // how many of them are free now, without regard to the queue
	Ahead int   // earlier wishes in the queue for the same GPUs
	Mine  bool  // a sandbox of the same user has one of the GPUs
}

func busy(uses []Use, before []waiting, me waiting) error {
	e := &BusyError{Want: me.Wish, Ahead: rivals(uses, before, me)}
	for _, i := range me.candidates(uses) {
		u := uses[i]
		e.Uses = append(e.Uses, u)
		if me.free(&u, me.UID) {
			e.Free++
		}
		for _, c := range u.Claims {
			e.Mine = e.Mine || c.UID == me.UID
		}
	}
	return e
}

// Passing reports whether the driver may be about to free one of the GPUs: memory is in use, but
// the driver lists no process and no claim exists.
func (e *BusyError) Passing() bool {
	return slices.ContainsFunc(e.Uses, func(u Use) bool { return u.Fault == "" && len(u.Claims)+len(u.Others) == 0 && u.busy() })
}

// Enough reports whether this computer has as many fitting GPUs as the wish needs, free or not.
func (e *BusyError) Enough() bool { return len(e.Uses) >= e.Want.count() }

func (e *BusyError) Error() string {
	parts := []string{fmt.Sprintf("%d × %s requested, %d of this computer's %d free", e.Want.count(), e.Want.what(), e.Free, len(e.Uses))}
	for i := range e.Uses {
		if by := e.Uses[i].By(); by != "" {
			parts = append(parts, e.Uses[i].Label()+": "+by)
		}
	}
	if e.Ahead > 0 {
		parts = append(parts, fmt.Sprintf("%d ahead in the queue", e.Ahead))
	}
	return strings.Join(parts, "; ")
}

// what is the wished GPU in words, such as 1/4 of H100.
func (w *Wish) what() string {
	name := w.GPU
	if len(w.Exact) > 0 {
		name = strings.Join(w.Exact, " + ")
	}
	if share := w.Share.String(); share != "" {
		name = share + " of " + name
	}
	return name
}

// String is the share in words: 1/4, 20.0 GB; empty for the whole GPU.
func (s Share) String() string {
	switch {
	case s.Parts > 1:
		return "1/" + strconv.Itoa(s.Parts)
	case s.Bytes > 0:
		return text.Bytes(s.Bytes)
	}
	return ""
}

// Label names the GPU.
func (g *GPU) Label() string { return fmt.Sprintf("GPU %d (%s)", g.Index, g.Name) }

// By names the users of the GPU, or the fault that makes it unusable; empty = it is free.
func (u *Use) By() string {
	var parts []string
	if u.Fault != "" {
		parts = append(parts, fmt.Sprintf("in an error state (nvidia-smi says %s); reset it as root: nvidia-smi --gpu-reset -i %d", u.Fault, u.Index))
	}
	for _, c := range u.Claims {
		parts = append(parts, c.text())
	}
	for _, p := range u.Others {
		uses := ""
		if p.Memory > 0 {
			uses = " uses " + text.Bytes(p.Memory)
		}
		parts = append(parts, fmt.Sprintf("%s (pid %d%s)%s, not by Seer", p.Name, p.PID, of(p.User), uses))
	}
	if len(u.Claims)+len(u.Others) == 0 && u.busy() {
		parts = append(parts, text.Bytes(u.Used)+" are in use by programs that cannot be seen from here")
	}
	return strings.Join(parts, ", ")
}

func (c *Claimed) text() string {
	name := "a sandbox"
	if c.Sandbox != "" {
		name = "sandbox " + c.Sandbox
	}
	name += of(c.User)
	if c.Bytes > 0 {
		name += " has " + text.Bytes(c.Bytes)
	}
	if !c.Until.IsZero() {
		name += " until " + clock(c.Until)
	}
	return name
}

func of(user string) string {
	if user == "" {
		return ""
	}
	return " of " + user
}

// clock formats a time in the local zone, with the date only if it is 12 hours away or more.
func clock(t time.Time) string {
	t = t.Local()
	if time.Until(t) < 12*time.Hour {
		return t.Format("15:04")
	}
	return t.Format("2006-01-02 15:04")
}
