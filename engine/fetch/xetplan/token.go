package xetplan

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// early is how long before its end a token is not used any more.
const early = 30 * time.Second

// access is a storage and the token for it.
type access struct {
	CAS     string `json:"casUrl"`
	Token   string `json:"accessToken"`
	Expires int64  `json:"exp"` // seconds since 1970
}

// entry is the access that one address gives. Its lock is held while that is asked.
type entry struct {
	sync.Mutex
	access
}

// access is what a token address gives, now or earlier. A token that was refused is not
// given again.
func (p *Planner) access(ctx context.Context, address, refused string) (access, error) {
	p.mu.Lock()
	if p.entries == nil {
		p.entries = map[string]*entry{}
	}
	e := p.entries[address]
	if e == nil {
		e = &entry{}
		p.entries[address] = e
	}
	p.mu.Unlock()
	e.Lock()
	defer e.Unlock()
	if e.Token != "" && e.Token != refused && time.Now().Add(early).Unix() < e.Expires {
		return e.access, nil
	}
	status, body, err := p.Ask(ctx, address)
	switch {
	case err != nil:
		return access{}, err
	case status != http.StatusOK:
		return access{}, sdk.Errorf(sdk.Unavailable, "the address of the Xet token answered %d", status)
	}
	var a access
	if err := json.Unmarshal(body, &a); err != nil || !a.valid(address) {
		return access{}, sdk.Errorf(sdk.Internal, "the address of the Xet token answered without a token or without the address of the storage")
	}
	e.access = a
	return a, nil
}

// valid reports whether the token can be sent. It is sent unencrypted only if it came so.
func (a *access) valid(from string) bool {
	u, err := url.Parse(a.CAS)
	a.CAS = strings.TrimSuffix(a.CAS, "/")
	return err == nil && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "" &&
		(u.Scheme == "https" || u.Scheme == "http" && strings.HasPrefix(from, "http://")) &&
		a.Token != "" && !strings.ContainsFunc(a.Token, func(r rune) bool { return r <= ' ' || r > '~' })
}
