package models

import (
	"cmp"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/engine/fetch/hubcache"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// Rate is how fast a download to this computer was. It is kept for each host of a source, so that
// a plan can say how long the next one takes.
type Rate struct {
	BytesPerSecond float64   `json:"bytes_per_second"` // over the whole download
	At             time.Time `json:"at"`
}

// telling is how many bytes have to come until the rate says something.
const telling = 8 << 20

// Host is the host that a source is asked at: of the Hub HF_ENDPOINT or huggingface.co, and of
// others what the name begins with. A source whose names have no host is its own.
func Host(ref sdk.ModelRef, getenv func(string) string) string {
	name := ref.Name
	if ref.Source == hubcache.Source {
		name = cmp.Or(getenv("HF_ENDPOINT"), "https://huggingface.co")
	}
	if at, err := url.Parse(name); err == nil && at.Host != "" {
		return at.Host
	}
	if first, _, _ := strings.Cut(name, "/"); strings.ContainsAny(first, ".:") {
		return first
	}
	return ref.Source
}

func ratePath(cache, host string) string {
	return filepath.Join(cache, ".rates", url.PathEscape(host)+".json")
}

// LastRate is that of the last download from a host to the engine's own cache, or to that of the
// Hub's clients beside it. What cannot be read is not known.
func LastRate(cache, host string) (r Rate, known bool) {
	text, err := os.ReadFile(ratePath(cache, host))
	return r, err == nil && json.Unmarshal(text, &r) == nil && r.BytesPerSecond > 0
}

// rateMeter remembers the part of a download that brought the most bytes.
type rateMeter struct{ most fetch.Progress }

func (m *rateMeter) see(p fetch.Progress) {
	if p.Came >= m.most.Came {
		m.most = p
	}
}

// keep remembers the rate, if enough came to tell one. That it cannot be kept is no error: then a
// plan does not know it.
func (m *rateMeter) keep(cache, host string) {
	if m.most.Came < telling || m.most.Took <= 0 {
		return
	}
	text, err := json.Marshal(Rate{BytesPerSecond: float64(m.most.Came) / m.most.Took.Seconds(), At: time.Now().UTC().Truncate(time.Second)})
	path := ratePath(cache, host)
	if err == nil && os.MkdirAll(filepath.Dir(path), 0o700) == nil {
		_ = state.WriteFile(path, text, 0o600)
	}
}
