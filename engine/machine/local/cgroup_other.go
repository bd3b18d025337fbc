//go:build !linux

package local

import (
	"errors"
	"os/exec"

	"github.com/seer-engine/seer/sdk"
)

// Control groups exist only on Linux.
type limits struct{}

const cgroups = ""

func limitsFor(_ string, spec *sdk.MachineSpec, _ string, _ []byte) (*limits, error) {
	if spec.MemoryGB > 0 || spec.CPU > 0 {
		return nil, errors.New("that needs Linux")
	}
	return nil, nil
}

func (l *limits) make(*sdk.MachineSpec) error { return nil }
func (l *limits) start(cmd *exec.Cmd) error   { return cmd.Start() }
func (l *limits) full() bool                  { return false }
func (l *limits) remove() error               { return nil }
