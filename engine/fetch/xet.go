package fetch

import (
	"context"
	"io"
	"net/http"
	"os"
	"sync"

	"github.com/seer-engine/seer/engine/fetch/xetplan"
	"github.com/seer-engine/seer/engine/transfer"
	"github.com/seer-engine/seer/engine/transfer/xet"
	"github.com/seer-engine/seer/sdk"
)

const (
	smallestXet = 16 << 20 // bytes of a file for which a Xet storage is asked
	worthXet    = 0.9      // of the bytes of the file: it is taken if no more have to be transferred
	xetTries    = 2        // locations of one file; the third one is at its plain address
)

// xetChooser decides which files are read from their Xet storage.
type xetChooser struct {
	planner xetplan.Planner

	mu    sync.Mutex
	tries map[string]int // locations by file
	off   bool
	used  bool
}

// Getter is a fetcher that asks addresses with credentials that it does not show. A fetcher
// that wraps another one forwards Get by [Get].
type Getter interface {
	Get(ctx context.Context, url string) (status int, body []byte, err error)
}

func newXetChooser(fetcher sdk.Fetcher) *xetChooser {
	x := &xetChooser{tries: map[string]int{}}
	x.planner.Ask = func(ctx context.Context, url string) (int, []byte, error) { return Get(ctx, fetcher, url) }
	return x
}

// Get asks an address that a fetcher has named: with its credentials if it is a [Getter].
func Get(ctx context.Context, fetcher sdk.Fetcher, url string) (status int, body []byte, err error) {
	if g, ok := fetcher.(Getter); ok {
		return g.Get(ctx, url)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, body, err
}

// maybeXet reports whether it may be worth it to read a file from a Xet storage.
func maybeXet(f sdk.ModelFile) bool { return f.Size >= smallestXet && f.SHA256 != "" }

// wants reports whether the storage of a file is to be asked.
func (x *xetChooser) wants(f sdk.ModelFile, at sdk.Location) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.off || at.Xet.Hash == "" || at.URL == "" || !maybeXet(f) {
		return false
	}
	x.tries[f.Path]++
	return x.tries[f.Path] <= xetTries
}

// giveUp has all files read from their plain addresses. It reports whether that makes a
// difference.
func (x *xetChooser) giveUp() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	again := x.used && !x.off
	x.off = true
	return again
}

// earlier finds another revision of a file on this computer.
type earlier func(path string) (revision, file string, ok bool)

// viaXet is the location of a file in its Xet storage, and what an earlier revision has of
// it. It is not ok where that saves too little, or the storage does not answer: every file
// has a plain address as well.
func (s source) viaXet(ctx context.Context, f sdk.ModelFile, at sdk.Location, earlier earlier) (sdk.Location, []transfer.Copy, bool) {
	if !s.xet.wants(f, at) {
		return at, nil, false
	}
	rec, err := s.xet.planner.Plan(ctx, at.Xet, f.Size)
	if err != nil {
		return at, nil, false
	}
	var copies []transfer.Copy
	if earlier != nil {
		if revision, file, ok := earlier(f.Path); ok {
			copies = s.copies(ctx, f, rec, revision, file)
		}
	}
	if float64(xetplan.Cost(rec, copies)) > worthXet*float64(f.Size) {
		return at, nil, false
	}
	via, err := xetplan.Location(rec)
	if err != nil {
		return at, nil, false
	}
	s.xet.mu.Lock()
	defer s.xet.mu.Unlock()
	s.xet.used = true
	return via, copies, true
}

// copies are the pieces of a file that an earlier revision of it has. Whatever fails, they are
// downloaded.
func (s source) copies(ctx context.Context, f sdk.ModelFile, rec *xet.Reconstruction, revision, file string) []transfer.Copy {
	info, err := os.Stat(file)
	if err != nil {
		return nil
	}
	ref := s.ref(f.Path)
	ref.Revision = revision
	at, err := s.fetcher.Locate(ctx, ref)
	if err != nil || at.Xet.Hash == "" {
		return nil
	}
	have, err := s.xet.planner.Plan(ctx, at.Xet, info.Size())
	if err != nil {
		return nil
	}
	copies, err := xetplan.Copies(rec, have, file)
	if err != nil {
		return nil
	}
	return copies
}
