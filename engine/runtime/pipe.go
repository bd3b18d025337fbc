package runtime

import (
	"errors"
	"os"
	"syscall"
)

// openNonblock keeps the opening of a named pipe from waiting for its writer.
const openNonblock = syscall.O_NONBLOCK

func isClosedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed)
}
