package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/agent/meter"
	"github.com/seer-engine/seer/engine/agent/mockmodel"
)

// asked is a scripted language model and the proxy before it.
type asked struct{ model, proxy *httptest.Server }

const askedToken = "token-of-the-run"

// open starts both, once.
func (a *asked) open() error {
	if a.model != nil {
		return nil
	}
	script := &mockmodel.Script{Turns: []mockmodel.Turn{{Say: strings.Repeat("word ", 200), Usage: mockmodel.Usage{Input: 10, Output: 200}}}}
	a.model = httptest.NewServer(mockmodel.New(script, nil))
	proxy, err := meter.New(meter.Config{API: "anthropic", Upstream: a.model.URL, Key: "key-of-the-laboratory", Token: askedToken, Budget: 1e9})
	if err != nil {
		return err
	}
	a.proxy = httptest.NewServer(proxy)
	return nil
}

// close ends what has been started.
func (a *asked) close() {
	for _, server := range []*httptest.Server{a.proxy, a.model} {
		if server != nil {
			server.Close()
		}
	}
}

// ask has the model say something, as often as it is to.
func (a *asked) ask(ctx context.Context, r request) (any, error) {
	if err := a.open(); err != nil {
		return nil, err
	}
	base := a.proxy.URL
	if r.Direct {
		base = a.model.URL
	}
	var all samples
	for range max(1, r.Count) {
		first, whole, err := askOnce(ctx, base)
		if err != nil {
			return nil, err
		}
		if r.First {
			whole = first
		}
		all.Samples = append(all.Samples, whole.Seconds())
	}
	return all, nil
}

// askOnce is how long the first byte of an answer takes, and all of it.
func askOnce(ctx context.Context, base string) (first, whole time.Duration, err error) {
	body := `{"model":"claude-sonnet-4-5","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"` + strings.Repeat("go ", 3000) + `"}]}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/messages", strings.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("X-Api-Key", askedToken)
	begin := time.Now()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer res.Body.Close()
	if _, err = io.ReadFull(res.Body, make([]byte, 1)); err != nil {
		return 0, 0, err
	}
	first = time.Since(begin)
	rest, err := io.ReadAll(res.Body)
	whole = time.Since(begin)
	if err == nil && (res.StatusCode != http.StatusOK || !strings.Contains(string(rest), "message_stop")) {
		err = fmt.Errorf("status %d: %.200s", res.StatusCode, rest)
	}
	return first, whole, err
}
