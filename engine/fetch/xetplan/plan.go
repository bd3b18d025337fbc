// Package xetplan asks Xet storages how files are put together, and turns the answers into
// what the mover needs: locations of parts, and pieces that are on this computer already.
package xetplan

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/transfer/xet"
	"github.com/seer-engine/seer/sdk"
)

const (
	maxAnswer = 32 << 20         // bytes of a reconstruction
	patience  = 20 * time.Second // for one answer; the file can be had without the storage
)

// Planner asks storages. It keeps their tokens for as long as they count. It is safe for
// concurrent use.
type Planner struct {
	Client *http.Client // nil = one with the system's proxy settings
	// Ask asks the address of a token.
	Ask func(ctx context.Context, url string) (status int, body []byte, err error)

	mu      sync.Mutex
	entries map[string]*entry // by the address of the token
	old     map[string]bool   // storages that know version 1 alone
}

// Plan asks how a file of a size is put together.
func (p *Planner) Plan(ctx context.Context, file sdk.Xet, size int64) (*xet.Reconstruction, error) {
	hash, err := xet.ParseHash(file.Hash)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a, err := p.access(ctx, file.TokenURL, "")
	if err != nil {
		return nil, err
	}
	status, body, err := p.reconstruction(ctx, a, hash)
	if err == nil && (status == http.StatusUnauthorized || status == http.StatusForbidden) {
		if a, err = p.access(ctx, file.TokenURL, a.Token); err != nil {
			return nil, err
		}
		status, body, err = p.reconstruction(ctx, a, hash)
	}
	switch {
	case err != nil:
		return nil, err
	case status != http.StatusOK:
		return nil, sdk.Errorf(sdk.Unavailable, "the Xet storage answered %d", status)
	}
	rec, err := xet.ParseReconstruction(body)
	if err != nil {
		return nil, err
	}
	if n := rec.Length(); n != size || rec.Skip != 0 {
		return nil, fmt.Errorf("%w: the storage knows the file with %d bytes, and it has %d", xet.ErrMalformed, n, size)
	}
	return rec, nil
}

// reconstruction asks in version 2, and in version 1 if the storage does not know that.
func (p *Planner) reconstruction(ctx context.Context, a access, file xet.Hash) (status int, body []byte, err error) {
	p.mu.Lock()
	old := p.old[a.CAS]
	p.mu.Unlock()
	if !old {
		status, body, err = p.get(ctx, a, "/v2/reconstructions/"+file.String())
		if err != nil || status != http.StatusNotFound && status != http.StatusNotImplemented {
			return status, body, err
		}
	}
	status, body, err = p.get(ctx, a, "/v1/reconstructions/"+file.String())
	if err == nil && status == http.StatusOK {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.old == nil {
			p.old = map[string]bool{}
		}
		p.old[a.CAS] = true
	}
	return status, body, err
}

func (p *Planner) get(ctx context.Context, a access, path string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.CAS+path, nil)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+a.Token)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if p.Client != nil {
		client.Transport = p.Client.Transport
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode, nil, nil
	}
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = sdk.Errorf(sdk.Unsupported, "the Xet storage answers with more than %d bytes", maxAnswer)
	}
	return resp.StatusCode, body, err
}

// Location is where the parts of a file are.
func Location(rec *xet.Reconstruction) (sdk.Location, error) {
	var at sdk.Location
	index := map[int]int{} // of a fetch of rec, in the location
	ranges := 0
	for _, t := range rec.Terms {
		n, known := index[t.Fetch]
		if !known {
			n = len(at.Fetches)
			index[t.Fetch] = n
			fetch := sdk.Fetch{URL: rec.Fetches[t.Fetch].URL}
			for _, r := range rec.Fetches[t.Fetch].Ranges {
				fetch.Ranges = append(fetch.Ranges, sdk.FetchRange{Start: r.Bytes.First, End: r.Bytes.Last + 1, FirstChunk: r.Chunks.Start})
			}
			ranges += len(fetch.Ranges)
			at.Fetches = append(at.Fetches, fetch)
		}
		at.Parts = append(at.Parts, sdk.Part{
			Encoding: sdk.EncodingXet, Fetch: n, Length: t.Length, Range: t.Range, FirstChunk: t.Chunks.Start, EndChunk: t.Chunks.End,
		})
	}
	if len(at.Parts) > sdk.MaxParts || len(at.Fetches) > sdk.MaxParts || ranges > sdk.MaxParts {
		return at, sdk.Errorf(sdk.Unsupported, "the file has more than %d parts", sdk.MaxParts)
	}
	return at, nil
}
