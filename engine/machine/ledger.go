package machine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/lazyregexp"
)

// Ledger is the list of sandboxes on disk, one file each. Several programs may
// use one folder at once.
type Ledger struct {
	dir   string
	owner string
	clock Clock
}

// OpenLedger opens the ledger in dir, which must be private to the user, and
// makes it if there is none. A nil clock is real time.
func OpenLedger(dir string, clock Clock) (*Ledger, error) {
	if clock == nil {
		clock = SystemClock{}
	}
	l := &Ledger{dir: dir, clock: clock}
	if err := os.MkdirAll(l.path("starting"), 0o700); err != nil {
		return nil, fmt.Errorf("make the ledger: %w", err)
	}
	var err error
	if l.owner, err = l.readOwner(); l.owner != "" || err != nil { // a program that stands still may hold the lock
		return l, err
	}
	err = l.locked(context.Background(), func() (err error) {
		l.owner, err = l.makeOwner()
		return err
	})
	return l, err
}

// Owner marks the machines of this ledger at a provider. It is made once for each
// folder, so that two computers that share a cloud account do not end each
// other's machines.
func (l *Ledger) Owner() string { return l.owner }

// readOwner returns no owner if there is none yet.
func (l *Ledger) readOwner() (string, error) {
	data, err := os.ReadFile(l.path("owner"))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return strings.TrimSpace(string(data)), err
}

func (l *Ledger) makeOwner() (string, error) {
	if owner, err := l.readOwner(); owner != "" || err != nil {
		return owner, err
	}
	owner := "own-" + randomText(12)
	return owner, state.WriteFile(l.path("owner"), []byte(owner+"\n"), 0o600)
}

var validName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// CheckName tells what cannot be the name of a sandbox. Empty is none, which is allowed.
func CheckName(name string) error {
	if name != "" && (!validName().MatchString(name) || strings.HasPrefix(name, "sb-")) {
		return fmt.Errorf("%.80q cannot be the name of a sandbox; use letters, digits, '.', '_' and '-', at most 63, beginning with a letter or digit, and not with sb-", name)
	}
	return nil
}

// Add writes a new record before anything is rented for it. A name that a live
// sandbox has is a [ConflictError].
func (l *Ledger) Add(ctx context.Context, r *Record) error {
	if err := CheckName(r.Name); err != nil {
		return err
	}
	return l.locked(ctx, func() error {
		if err := l.checkName(r); err != nil {
			return err
		}
		if _, err := os.Lstat(l.file(r.ID)); err == nil {
			return fmt.Errorf("the ledger already has a sandbox %s", r.ID)
		}
		r.Version, r.Owner = recordVersion, l.owner
		if r.CreatedAt.IsZero() {
			r.CreatedAt = l.clock.Now()
		}
		return l.write(r, nil)
	})
}

func (l *Ledger) checkName(r *Record) error {
	if r.Name == "" {
		return nil
	}
	others, _ := l.List() // a corrupt record has no name to protect
	for i := range others {
		if o := &others[i]; o.Name == r.Name && o.ID != r.ID && o.Live() {
			return &ConflictError{Name: r.Name, ID: o.ID}
		}
	}
	return nil
}

// Update changes one record under the lock and returns it as it is then. If
// change returns an error, nothing is written. What a newer Seer has noted in the record stays.
func (l *Ledger) Update(ctx context.Context, id string, change func(*Record) error) (r Record, err error) {
	err = l.locked(ctx, func() (err error) {
		if r, err = l.Get(id); err != nil {
			return err
		}
		before, err := os.ReadFile(l.file(id))
		if err != nil {
			return err
		}
		known, err := json.Marshal(&r) // now, as change may change what r leads to
		if err != nil {
			return err
		}
		if err := change(&r); err != nil {
			return err
		}
		return l.write(&r, func(after []byte) []byte { return KeepUnknown(before, known, after) })
	})
	return r, err
}

// Get reads the record with exactly this ID.
func (l *Ledger) Get(id string) (Record, error) {
	if !validName().MatchString(id) {
		return Record{}, &NotFoundError{Ref: id}
	}
	r, err := readRecord(l.file(id))
	if errors.Is(err, os.ErrNotExist) {
		return Record{}, &NotFoundError{Ref: id}
	}
	return r, err
}

// List reads all records, the oldest first. Records that cannot be read are in
// the error, each as a [CorruptError]; the others are returned nevertheless.
func (l *Ledger) List() ([]Record, error) {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	var (
		out  []Record
		errs []error
	)
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasPrefix(name, "sb-") || !strings.HasSuffix(name, ".json") {
			continue
		}
		path := l.path(name)
		r, err := readRecord(path)
		switch {
		case errors.Is(err, os.ErrNotExist): // removed just now
		case err != nil:
			errs = append(errs, err)
		default:
			out = append(out, r)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].CreatedAt.Before(out[j].CreatedAt) })
	return out, errors.Join(errs...)
}

// Remove forgets a record. It is refused while something may be left of its
// machine.
func (l *Ledger) Remove(ctx context.Context, id string) error {
	return l.locked(ctx, func() error {
		r, err := l.Get(id)
		if err != nil {
			return err
		}
		if r.Live() || !r.Released {
			return remedy.For(fmt.Errorf("the sandbox %s is not known to have ended, so it is not forgotten; end it first", id),
				remedy.Remedy{Action: remedy.EndSandbox, Sandbox: id})
		}
		_ = os.Remove(l.startFile(id)) // it exists only after a crash
		if err := os.Remove(l.file(id)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	})
}

// Heartbeat extends the lease of a sandbox by a sign of life now.
func (l *Ledger) Heartbeat(ctx context.Context, id string) (Record, error) {
	return l.Update(ctx, id, func(r *Record) error {
		r.Lease = r.Lease.Extend(l.clock.Now())
		return nil
	})
}

// locked runs do while no other program changes the ledger.
func (l *Ledger) locked(ctx context.Context, do func() error) error {
	return state.Locked(ctx, l.path("lock"), do)
}

// write writes a record, with what keep adds to its JSON; nil = nothing.
func (l *Ledger) write(r *Record, keep func([]byte) []byte) error {
	r.UpdatedAt = l.clock.Now()
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if keep != nil {
		data = keep(data)
	}
	var text bytes.Buffer
	if err := json.Indent(&text, data, "", "  "); err != nil {
		return err
	}
	text.WriteByte('\n')
	return state.WriteFile(l.file(r.ID), text.Bytes(), 0o600)
}

func (l *Ledger) path(elem string) string    { return filepath.Join(l.dir, elem) }
func (l *Ledger) file(id string) string      { return l.path(id + ".json") }
func (l *Ledger) startFile(id string) string { return filepath.Join(l.path("starting"), id) }

// starting reports whether a program works on the start of a sandbox just now.
func (l *Ledger) starting(id string) bool {
	lock, held, err := state.TryAcquire(l.startFile(id))
	if err != nil || held {
		return true
	}
	lock.Remove()
	return false
}

// begunPrefix begins the names of locks of starts that have no record yet.
const begunPrefix = "begun-"

// Begin notes that a start goes on, until end is called or the program dies. It has no record
// before all that it needs is there, which can take hours.
func (l *Ledger) Begin(ctx context.Context) (end func(), err error) {
	lock, err := state.Acquire(ctx, l.startFile(begunPrefix+randomText(10)))
	if err != nil {
		return nil, err
	}
	return lock.Remove, nil
}

// Begun is when the oldest of the starts began that [Ledger.Begin] has noted and that go on;
// zero = there are none.
func (l *Ledger) Begun() (oldest time.Time, err error) {
	entries, err := os.ReadDir(l.path("starting"))
	if err != nil {
		return oldest, err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(entry.Name(), begunPrefix) {
			continue
		}
		if err != nil {
			return oldest, err
		}
		if begun := info.ModTime(); (oldest.IsZero() || begun.Before(oldest)) && l.starting(entry.Name()) {
			oldest = begun
		}
	}
	return oldest, nil
}

// sweepStarts removes the locks of programs that died before they had written a
// record, and so before anything was rented.
func (l *Ledger) sweepStarts() error {
	return state.SweepLocks(l.path("starting"), func(id string) bool {
		_, err := os.Stat(l.file(id))
		return !errors.Is(err, os.ErrNotExist)
	})
}

func readRecord(path string) (Record, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Record{}, err
	}
	var r Record
	if err := json.Unmarshal(data, &r); err != nil {
		return Record{}, &CorruptError{Path: path, Err: err}
	}
	switch id := strings.TrimSuffix(filepath.Base(path), ".json"); {
	case r.Version > recordVersion:
		return Record{}, &CorruptError{Path: path, Err: errors.New("it was written by a newer version of Seer")}
	case r.ID != id || r.Key == "":
		return Record{}, &CorruptError{Path: path, Err: errors.New("it is not the record of " + id)}
	}
	return r, nil
}
