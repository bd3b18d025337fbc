package fetch

import "github.com/seer-engine/seer/engine/fetch/hubcache"

// Missing is how many bytes [Fetch] would download of a model, as far as the sizes of what is on
// this computer tell; contents are not read.
func (r *Remote) Missing(o Options) int64 {
	if _, ok := downloaded(r.source, o); ok {
		return 0
	}
	if o.HubCache == "" || r.Source != hubcache.Source || !hubcache.Fits(r.Revision, r.Files) {
		return r.Bytes
	}
	return r.Bytes - hubcache.Cache{Dir: o.HubCache, Own: o.CacheDir}.Present(r.Name, r.Files)
}
