//go:build !linux

package watchdog

import "github.com/seer-engine/seer/engine/machine/local/proc"

// waitEnd does not wait: only Linux has GPUs whose users wait for an end.
func waitEnd(proc.Process) {}
