package egress

import (
	"context"
	"net/http"

	"github.com/seer-engine/seer/sdk"
)

// Get makes a GET request of the engine's own, with the permissions and the credentials of
// the plugin, which sees nothing of the answer. An answer of more than limit bytes is an
// error of the code Invalid. Redirects are not followed.
func (g *Gateway) Get(ctx context.Context, url string, limit int) (status int, body []byte, err error) {
	s := g.Session(ctx)
	defer s.Close()
	opened, err := s.OpenHTTP(sdk.HTTPOpen{Method: http.MethodGet, URL: url, KeepRedirects: true})
	if err != nil {
		return 0, nil, err
	}
	for {
		for _, e := range s.drain() {
			switch e.Kind {
			case sdk.EventHead:
				status = e.Status
			case sdk.EventData:
				if body = append(body, e.payload...); len(body) > limit {
					return 0, nil, sdk.Errorf(sdk.Invalid, "the answer has more than %d bytes", limit)
				}
				e.st.fetched()
				s.Credit(opened.Stream, int64(len(e.payload)))
			case sdk.EventEnd:
				if e.Error != nil {
					return 0, nil, e.Error
				}
				return status, body, nil
			}
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return 0, nil, ctx.Err()
		}
	}
}

// drain takes all events.
func (s *Session) drain() []event {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := s.events
	s.events = nil
	return events
}
