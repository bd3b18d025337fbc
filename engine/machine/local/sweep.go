package local

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/seer-engine/seer/engine/state"
)

// Sweep removes what killed writers left in the folder of this provider, where no machine
// was ended since, and the short names of machines whose folders somebody has deleted.
func Sweep(dir, runtimeDir string) error {
	return errors.Join(state.Sweep(dir), state.SweepLinks(runtimeDir),
		state.SweepLocks(filepath.Join(dir, "locks"), func(handle string) bool {
			_, note := os.Lstat(filepath.Join(dir, handle+".json"))
			_, folder := os.Lstat(filepath.Join(dir, handle))
			return note == nil || folder == nil
		}))
}
