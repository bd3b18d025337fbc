package models

import (
	"context"

	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/engine/fetch/hubcache"
	"github.com/seer-engine/seer/sdk"
)

// Verified is what [Manager.Verify] found of a model.
type Verified struct {
	Name    string   `json:"name"`
	Files   int      `json:"files"`   // that were read, each content once
	Bytes   int64    `json:"bytes"`   // of these
	Wrong   []string `json:"wrong"`   // files with another content than was promised
	Missing []string `json:"missing"` // files whose content is missing
	// Unknown are files that nobody has promised a content of. They were not read.
	Unknown []string `json:"unknown"`
}

// Intact reports whether all files that can be verified are right.
func (v Verified) Intact() bool { return len(v.Wrong)+len(v.Missing) == 0 }

// Verify reads all files of a model of the Hub, of every revision on this computer, and
// compares them with the hashes that the Hub has given. What it finds wrong is no error.
func (m *Manager) Verify(ctx context.Context, ref sdk.ModelRef) (Verified, error) {
	name := Name(ref.Source, ref.Name)
	cache, err := m.cache()
	if err != nil {
		return Verified{}, err
	}
	if ref.Source != hubcache.Source {
		return Verified{}, sdk.Errorf(sdk.Unsupported, "%s cannot be verified: only models of the Hub have hashes that are kept; fetch it again", name)
	}
	if ref.Revision != "" {
		return Verified{}, sdk.Errorf(sdk.Unsupported, "one revision cannot be verified alone: revisions share files; name %s without a revision", name)
	}
	began := m.Now()
	found, err := cache.Verify(ctx, ref.Name, func(done, total int64) {
		p := fetch.Progress{Done: done, Total: total}
		if took := m.Now().Sub(began); took > 0 {
			p.Rate = float64(done) / took.Seconds()
		}
		p.Left = p.LeftOf(total - done)
		m.Report.Send(Copied(p))
	})
	return Verified{
		Name: name, Files: found.Blobs, Bytes: found.Bytes, Wrong: append([]string{}, found.Wrong...),
		Missing: append([]string{}, found.Broken...), Unknown: append([]string{}, found.Unknown...),
	}, err
}
