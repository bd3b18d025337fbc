package fakehub

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/transfer/xet"
)

// grant is what a token of the Xet storage is for.
type grant struct {
	repo    string
	expires time.Time
}

// storage is the Xet storage of a hub.
type storage struct{ hub *Hub }

func (s storage) token(r *request, found *repo) error {
	s.hub.mu.Lock()
	token, expires := "xet_"+random34(), s.hub.now().Add(s.hub.options.XetLife)
	s.hub.tokens[token] = grant{found.Name(), expires}
	s.hub.mu.Unlock()
	header := r.w.Header()
	header.Set("X-Xet-Cas-Url", s.hub.URL(XetStorage))
	header.Set("X-Xet-Access-Token", token)
	header.Set("X-Xet-Token-Expiration", strconv.FormatInt(expires.Unix(), 10))
	return r.json(map[string]any{"accessToken": token, "exp": expires.Unix(), "casUrl": s.hub.URL(XetStorage)})
}

func (r *request) parseXet(parts []string) {
	switch {
	case len(parts) == 3 && (parts[0] == "v1" || parts[0] == "v2") && parts[1] == "reconstructions":
		r.kind, r.rev, r.path = Reconstruction, parts[0], parts[2]
	case len(parts) == 3 && parts[0] == "xorbs" && parts[1] == "default":
		r.kind, r.path = Xorb, parts[2]
	}
}

func (s storage) serve(r *request) error {
	hash, err := xet.ParseHash(r.path)
	switch {
	case r.kind == Other || r.rev == "v2" && s.hub.options.XetV1:
		return errXetMissing
	case err != nil:
		return &problem{http.StatusBadRequest, "", err.Error()}
	case r.kind == Reconstruction:
		return s.reconstruction(r, hash)
	}
	if err := s.hub.signer.verify(r); err != nil {
		return err
	}
	x := s.hub.xets.xorb(hash)
	if x == nil {
		return errXetMissing
	}
	return r.serve(sized{&stored{xorb: x, lie: r.fault.Lie}, x.size}, hash.String())
}

type sized struct {
	*stored
	size int64
}

// Size is that of the xorb.
func (s sized) Size() int64 { return s.size }

// reconstruction answers how a file, or the range of the request, is put together.
func (s storage) reconstruction(r *request, hash xet.Hash) error {
	s.hub.mu.Lock()
	g, known := s.hub.tokens[bearer(r.Request)]
	s.hub.mu.Unlock()
	if !known || !s.hub.now().Before(g.expires) {
		return errXetToken
	}
	f := s.hub.xets.file(hash)
	if f == nil || !s.has(g.repo, hash) {
		return errXetMissing
	}
	first, last, err := parseRange(r.Header.Get("Range"), f.size)
	if err != nil {
		return err
	}
	terms, skip := f.between(first, last)
	answer := map[string]any{"offset_into_first_range": skip, "terms": wireTerms(terms)}
	if r.rev == "v1" {
		answer["fetch_info"] = s.fetchInfo(terms)
	} else {
		answer["xorbs"] = s.multiRanges(terms)
	}
	return r.json(answer)
}

func (s storage) has(name string, hash xet.Hash) bool {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	found := s.hub.known(name)
	if found == nil {
		return false
	}
	for _, c := range found.commits {
		for _, f := range c.files {
			if f.kind == Xet && f.xet.hash == hash {
				return true
			}
		}
	}
	return false
}

// parseRange reads bytes=FIRST-LAST; without it, the range is the whole file.
func parseRange(text string, size int64) (first, last int64, err error) {
	if text == "" {
		return 0, size - 1, nil
	}
	span, bytes := strings.CutPrefix(text, "bytes=")
	from, to, two := strings.Cut(span, "-")
	first, err1 := strconv.ParseInt(from, 10, 64)
	last, err2 := strconv.ParseInt(to, 10, 64)
	if to == "" {
		last, err2 = size-1, nil
	}
	if !bytes || !two || err1 != nil || err2 != nil || first > last && to != "" {
		return 0, 0, &problem{http.StatusBadRequest, "", "Invalid Range header"}
	}
	if first >= size {
		return 0, 0, &problem{http.StatusRequestedRangeNotSatisfiable, "", "Range Not Satisfiable"}
	}
	return first, min(last, size-1), nil
}
