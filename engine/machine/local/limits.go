package local

import (
	"os"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// confine decides where the machine's memory and processor time are limited. Where that
// cannot be done the machine runs without, and its log says so.
func confine(handle string, n *note) (warning string) {
	own, _ := os.ReadFile("/proc/self/cgroup")
	var err error
	if n.Limits, err = limitsFor(handle, n.Spec, cgroups, own); err != nil {
		return unlimited(err)
	}
	return ""
}

// limit makes the control groups; the note, which is on disk, tells where they are.
func limit(n *note, spec *sdk.MachineSpec) (warning string) {
	if n.Limits == nil {
		return ""
	}
	if err := n.Limits.make(spec); err != nil {
		_ = n.Limits.remove()
		n.Limits = nil
		return unlimited(err)
	}
	return ""
}

func unlimited(err error) string {
	return "cpu and memory_gb are not limited: " + err.Error()
}

// lift removes the control groups; what was killed may be in them for a moment.
func (n *note) lift() error {
	if n.Limits == nil {
		return nil
	}
	var err error
	for end := time.Now().Add(2 * time.Second); ; time.Sleep(poll) {
		if err = n.Limits.remove(); err == nil || time.Now().After(end) {
			return err
		}
	}
}
