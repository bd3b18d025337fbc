package provision

import (
	"slices"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/engine/fetch/hubcache"
	"github.com/seer-engine/seer/engine/models"
	"github.com/seer-engine/seer/engine/plan"
)

// download is how long it will take to download a model that was looked at; nil = there is nothing
// to download.
func (f Models) download(p plan.Plan, m experiment.Model, l looked) (*plan.Download, error) {
	if l.remote == nil {
		return nil, nil
	}
	d := &plan.Download{Bytes: l.remote.Bytes, Host: models.Host(m.Ref(), f.Getenv), BytesPerSecond: plan.AssumedRate, Assumed: true}
	here := func(c plan.Choice) bool { return c.HostMounts }
	if d.Rented = p.Network == "open" && !slices.ContainsFunc(p.Choices, here); !d.Rented {
		o, err := f.caches(m)
		if err != nil {
			return nil, err
		}
		d.Bytes = l.remote.Missing(o)
		if last, known := models.LastRate(o.CacheDir, d.Host); known {
			d.BytesPerSecond, d.Measured, d.Assumed = last.BytesPerSecond, last.At, false
		}
	}
	if d.Bytes == 0 {
		return nil, nil
	}
	d.Seconds = float64(d.Bytes) / d.BytesPerSecond
	return d, nil
}

// caches are where a model of this computer is.
func (f Models) caches(m experiment.Model) (o fetch.Options, err error) {
	if o.CacheDir, err = f.Cache("models"); err == nil && m.Source == hubcache.Source {
		o.HubCache, err = hubcache.Dir(f.Getenv)
	}
	return o, err
}
