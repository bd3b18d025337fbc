package store

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// settled is how long a file must not have changed before what was read in it is
// remembered: file systems count time in steps, and two changes in one look like one.
const settled = 2 * time.Second

// stamp changes whenever a file does. The zero stamp is of a file that is not there or
// has just changed.
type stamp struct {
	dev, ino         uint64
	size             int64
	modified, change int64
}

func stampOf(path string, now time.Time) (s stamp, sure bool) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return s, err == unix.ENOENT //nolint:errorlint // a plain number
	}
	s = stamp{uint64(st.Dev), st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()} //nolint:unconvert // not so on macOS
	return s, now.Sub(time.Unix(0, s.change)) > settled
}

// remembered is what was read in up to two files. A decision is asked for before each
// call of a plugin, and reading all files takes longer than such a call.
type remembered[T any] struct {
	mu     sync.Mutex
	stamps [2]stamp
	known  bool
	value  T
}

// get reads anew unless no file has changed. now is of the system's clock, as the times of
// files are. Nobody may change what it gives.
func (r *remembered[T]) get(now time.Time, paths [2]string, read func() (T, error)) (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var stamps [2]stamp
	sure := true
	for i, path := range paths {
		if path != "" {
			s, ok := stampOf(path, now)
			stamps[i], sure = s, sure && ok
		}
	}
	if r.known && sure && stamps == r.stamps {
		return r.value, nil
	}
	value, err := read()
	if r.known = sure && err == nil; r.known {
		r.stamps, r.value = stamps, value
	}
	return value, err
}
