package lease

import (
	"encoding/json"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/runtime/internal/loaderconn"
)

// Reporter tells the loader when the lease ends: should this program be stopped, the
// loader ends the machine.
type Reporter struct {
	lease  *Lease
	loader *os.File // nil = there is none
	log    *slog.Logger
	mu     sync.Mutex
}

// NewReporter makes a reporter that writes to the loader's socket; nil = there is none.
func NewReporter(lease *Lease, loader *os.File, log *slog.Logger) *Reporter {
	return &Reporter{lease: lease, loader: loader, log: log}
}

// Report tells the loader the end of the lease, unless it knows. The loader hears remaining
// seconds, because its clock stands still where this one does.
func (r *Reporter) Report(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	end, known := r.lease.unreported()
	if r.loader == nil || known {
		return
	}
	message, err := json.Marshal(map[string]any{"t": "lease", "lease": end.Sub(now).Seconds()})
	if err == nil {
		err = loaderconn.Send(r.loader, message)
	}
	if err != nil {
		r.log.Error("the loader does not know the end of the lease", "error", err)
		return
	}
	r.lease.setReported(end)
}

// Reset sends what makes the loader forget the lease. Nothing is reported meanwhile, and the
// next report tells it again.
func (r *Reporter) Reset(send func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := send()
	r.lease.setReported(time.Time{})
	return err
}
