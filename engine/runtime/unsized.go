package runtime

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
	"github.com/seer-engine/seer/engine/runtime/internal/redact"
)

// maxUnsized is how much is read of a file that does not say its size.
const maxUnsized = 16 << 20

// copyUnsized reads a file that says it is empty. It may be, or one that the kernel makes
// up while it is read, as below /proc; some of those have no end, and some are the variables
// of a process.
func copyUnsized(w http.ResponseWriter, f *os.File, redactor *redact.Redactor) error {
	_ = f.SetReadDeadline(time.Now().Add(5 * time.Second)) // where reading may wait at all
	first := make([]byte, 64<<10)
	n, err := io.ReadFull(f, first)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	w.WriteHeader(http.StatusOK)
	out := redactor.Writer(w)
	_, err = out.Write(first[:n])
	if err == nil {
		if _, err = io.CopyN(out, f, maxUnsized-int64(n)); errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err = cmp.Or(err, out.Flush()); err != nil {
		httpx.Abort(err)
	}
	return nil
}
