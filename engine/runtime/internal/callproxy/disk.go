package callproxy

import (
	"os"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/osfile"
)

// spare is what arguments leave free of a disk: the journal must be able to go on, or
// nobody's calls do.
const spare = 256 << 20

// fits refuses bytes of arguments that would fill the disk of the file.
func fits(f *os.File, n int) error {
	total, free, err := osfile.Space(f)
	if err == nil && crowded(total, free, uint64(n)) {
		return protocol.Errorf(protocol.NoSpace, "the machine's disk is almost full: %d MiB are left, which are not for arguments", free>>20)
	}
	return nil
}

// crowded reports whether n more bytes take what is to stay free: of a small disk, a
// twentieth.
func crowded(total, free, n uint64) bool { return free < n+min(spare, total/20) }
