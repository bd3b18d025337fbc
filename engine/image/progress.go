package image

import (
	"fmt"
	"math"
	"sync"
	"time"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/engine/state"
)

// progress tells how much has come, at most every two seconds.
type progress struct {
	mu            sync.Mutex
	name          string
	log           func(string)
	missing, came int64
	told          time.Time
}

func (j job) progress(layers []v1.Descriptor) *progress {
	p := &progress{name: j.asked, log: j.o.Log, told: time.Now()}
	var total int64
	for _, desc := range layers {
		total += desc.Size
		p.missing += desc.Size - min(desc.Size, max(fileSize(j.store.blob(desc)), fileSize(j.store.blob(desc)+".part")))
	}
	p.log(fmt.Sprintf("%s: %d layers, %s, of which %s are to be downloaded", p.name, len(layers), size(total), size(p.missing)))
	return p
}

func (p *progress) add(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.came += n
	if time.Since(p.told) > 2*time.Second {
		p.told = time.Now()
		p.log(fmt.Sprintf("%s: %s of %s", p.name, size(p.came), size(p.missing)))
	}
}

func (p *progress) end() {
	if p.missing > 0 {
		p.log(fmt.Sprintf("%s: downloaded %s", p.name, size(p.missing)))
	}
}

// checkSpace refuses before the first byte what cannot end well.
func (s store) checkSpace(asked string, need int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(s.dir, &st); err != nil {
		return fmt.Errorf("free space of %s: %w", s.dir, err)
	}
	free := int64(min(st.Bavail*uint64(st.Bsize), math.MaxInt64))
	if need > free {
		return fmt.Errorf("the image %s needs %s and more in %s, where %s are free; free some space or choose another cache folder: %w",
			asked, size(need), s.dir, size(free), state.ErrNoSpace)
	}
	return nil
}

func size(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%d kB", (n+999)/1000)
}

// age is a duration for people.
func age(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(d.Hours())/24)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", int(d.Hours()))
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d minutes", int(d.Minutes()))
	}
	return "less than 2 minutes"
}
