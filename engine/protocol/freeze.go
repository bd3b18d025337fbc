package protocol

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// FreezeLimit is how long a machine stays frozen at most.
const FreezeLimit = 60 * time.Second

// Frozen is what a runtime says when it has frozen its machine.
type Frozen struct {
	Frozen    int        `json:"frozen"`     // processes that stand still
	NotFrozen []Unfrozen `json:"not_frozen"` // processes that do not, and may still write
}

// Unfrozen is a process that could not be frozen.
type Unfrozen struct {
	Pid  int    `json:"pid"`
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Freeze is a frozen machine. It must be thawed.
type Freeze struct {
	Frozen
	c    *Client
	body interface{ Close() error }
}

// Freeze has every process of the machine stand still and what is written be on disk, so
// that its files can be copied. What would change files through the runtime waits. The
// machine goes on by itself after [FreezeLimit], or when the caller is gone; ctx must
// therefore live until [Freeze.Thaw]. [Conflict] means that it is frozen already, or that
// a file is being written through the runtime for longer than 10 s. It takes the admin
// token.
func (c *Client) Freeze(ctx context.Context) (*Freeze, error) {
	resp, err := c.do(ctx, http.MethodPost, "/v1/freeze", nil, nil)
	if err != nil {
		return nil, err
	}
	f := &Freeze{c: c, body: resp.Body}
	if err := json.NewDecoder(resp.Body).Decode(&f.Frozen); err != nil {
		resp.Body.Close()
		return nil, c.unreachable(noEOF(err))
	}
	return f, nil
}

// Thaw has the machine go on. It is [Conflict] when it has gone on before by itself: then
// what was copied may not be consistent.
func (f *Freeze) Thaw(ctx context.Context) error {
	defer f.body.Close()
	return f.c.json(ctx, http.MethodPost, "/v1/thaw", nil, nil, nil)
}
