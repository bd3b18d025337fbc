package local

import (
	"time"

	"golang.org/x/sys/unix"
)

// made reports whether a socket was made while the machine was parked. Where the file
// system does not tell, it is believed.
func (p *parkNote) made(path string) bool {
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st) != nil || st.Mask&unix.STATX_BTIME == 0 {
		return true
	}
	born := time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
	return born.After(p.From.Add(-time.Second)) && born.Before(p.Until.Add(time.Second))
}
