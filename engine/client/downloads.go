package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// Downloads is the client of what the machine downloads by itself. Its methods take the
// admin token.
type Downloads struct{ *transport }

// Put begins a download under a name (1 to 100 letters, digits, _ . and -), and continues
// what an earlier one has left in the folder. A running download of the same files continues;
// another one with that name is cancelled.
func (c Downloads) Put(ctx context.Context, id string, spec protocol.DownloadSpec) error {
	return c.json(ctx, http.MethodPut, downloadPath(id), nil, spec, nil)
}

// Wait waits until a download wants a location or has ended, for at most some time, and says
// how far it is.
func (c Downloads) Wait(ctx context.Context, id string, most time.Duration) (protocol.Download, error) {
	var d protocol.Download
	q := url.Values{"wait": {strconv.FormatFloat(most.Seconds(), 'f', -1, 64)}}
	return d, c.json(ctx, http.MethodGet, downloadPath(id), q, nil, &d)
}

// Locate sends a download the current location of one of its files.
func (c Downloads) Locate(ctx context.Context, id string, at protocol.DownloadLocation) error {
	return c.json(ctx, http.MethodPut, downloadPath(id)+"/location", nil, at, nil)
}

// Delete cancels a download that is under way, and forgets it. Its files stay.
func (c Downloads) Delete(ctx context.Context, id string) error {
	return c.json(ctx, http.MethodDelete, downloadPath(id), nil, nil, nil)
}

func downloadPath(id string) string { return "/v1/downloads/" + url.PathEscape(id) }
