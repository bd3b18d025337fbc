package transfer

import (
	"time"

	"github.com/seer-engine/seer/sdk"
)

// Located is the source of a file that a fetcher has located at a time. What it says is
// checked by [Download].
func Located(at sdk.Location, size int64, now time.Time) (Source, error) {
	s := Whole(at.URL, at.Headers, size)
	if at.URL == "" {
		s = Source{Content: append([]byte{}, at.Content...)}
	}
	if at.ExpiresSeconds > 0 {
		s.Expires = now.Add(time.Duration(at.ExpiresSeconds) * time.Second)
	}
	return s, nil
}
