package models

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/engine/state"
)

// Usage is what models take on the disk. Files with several names count once.
type Usage struct {
	Models     []ModelUsage `json:"models"` // the largest first
	Hub        CacheUsage   `json:"hub"`    // the cache of the Hub's clients
	Own        CacheUsage   `json:"own"`    // the engine's, without what the Hub's has as well
	Incomplete int64        `json:"incomplete_bytes"`
	Bytes      int64        `json:"bytes"` // of both caches
}

// ModelUsage is what a model takes on the disk.
type ModelUsage struct {
	Name  string `json:"name"`
	Where string `json:"where"`
	Bytes int64  `json:"bytes"`
}

// CacheUsage is what a cache takes on the disk.
type CacheUsage struct {
	Dir   string `json:"dir"`
	Bytes int64  `json:"bytes"`
}

// Usage measures what models take on the disk. Beside an error is what could be measured.
func (m *Manager) Usage(ctx context.Context) (Usage, error) {
	cache, err := m.cache()
	if err != nil {
		return Usage{}, err
	}
	all, err := m.List(ctx)
	errs := []error{err}
	u := Usage{Models: []ModelUsage{}, Hub: CacheUsage{Dir: cache.Dir}, Own: CacheUsage{Dir: cache.Own}}
	seen := inodes{}
	for _, where := range []string{InHub, InOwn} { // what both have is the Hub's
		for _, model := range all {
			if model.Where == where {
				bytes, err := seen.measure(ctx, model.Dir)
				u.add(model, bytes)
				errs = append(errs, err)
			}
		}
	}
	for _, c := range []*CacheUsage{&u.Hub, &u.Own} {
		bytes, err := seen.measure(ctx, c.Dir) // what is no model: the store that newer clients share
		c.Bytes, errs = c.Bytes+bytes, append(errs, err)
	}
	u.Bytes = u.Hub.Bytes + u.Own.Bytes
	slices.SortStableFunc(u.Models, func(a, b ModelUsage) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return u, errors.Join(errs...)
}

func (u *Usage) add(model Model, bytes int64) {
	u.Models = append(u.Models, ModelUsage{Name: model.Name, Where: model.Where, Bytes: bytes})
	if model.Where == InHub {
		u.Hub.Bytes += bytes
	} else {
		u.Own.Bytes += bytes
	}
	for _, left := range model.Incomplete {
		u.Incomplete += left.Bytes
	}
}

// inodes are the files that were counted.
type inodes map[[2]uint64]bool

// measure is what a folder takes on the disk, without what was counted before.
func (seen inodes) measure(ctx context.Context, dir string) (bytes int64, err error) {
	err = state.Walk(dir, func(path string, d fs.DirEntry) error {
		var st unix.Stat_t
		if !d.Type().IsRegular() || unix.Lstat(path, &st) != nil || strings.HasSuffix(path, ".lock") {
			return ctx.Err()
		}
		id := [2]uint64{uint64(st.Dev), st.Ino} //nolint:unconvert // 32 bits on macOS
		if !seen[id] {
			seen[id] = true
			bytes += st.Blocks * 512
		}
		return ctx.Err()
	})
	return bytes, err
}
