package fakehub

import (
	"time"

	"github.com/seer-engine/seer/engine/transfer/xet"
)

// Options are the settings of a [Hub]. The zero value is a hub without repositories, with one
// user.
type Options struct {
	Repos []Repo
	Users map[string]string // token → name of the user; default: one user with a random token

	Clock    interface{ Now() time.Time } // for expiry, limits and dates; default: the real one
	Limits   Limits
	PageSize int           // entries of a page of a tree, if the client does not say; default 1000
	URLLife  time.Duration // how long a signed URL is valid; default an hour
	XetLife  time.Duration // how long a Xet token is valid; default an hour
	XetV1    bool          // the Xet storage knows only version 1 of reconstructions
	// LargestWhole is the size of the largest file that the CDN sends without a Range; default
	// 50 GB.
	LargestWhole int64
	XorbSize     int64 // raw bytes, after which another xorb begins; default 64 MiB

	// Via starts a proxy for the host that listens at address, HOST:PORT of TCP, and returns the
	// address where clients reach it; nil = they reach the host itself.
	Via func(address string) (string, error)
}

// Limits are how many requests a token, or everybody without one, may send in five minutes.
type Limits struct {
	API       int // default 1000, without a token 500
	Resolvers int // default 5000, without a token 3000
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (o *Options) setDefaults() {
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	if len(o.Users) == 0 {
		o.Users = map[string]string{"hf_" + random34(): "user"}
	}
	setDefault(&o.PageSize, 1000)
	setDefault(&o.URLLife, time.Hour)
	setDefault(&o.XetLife, time.Hour)
	setDefault(&o.LargestWhole, 50e9)
	setDefault(&o.XorbSize, xet.MaxXorb-1<<20) // with headers, no xorb is larger than the format allows
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
