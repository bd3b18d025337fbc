package runpod

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/seer-engine/seer/sdk"
)

const (
	requestTime = 10 * time.Second
	createTime  = 18 * time.Second // RunPod looks for a machine before it answers
	maxAnswer   = 32 << 20         // bytes
	userAgent   = "seer-provider-" + Name + "/" + Version
)

// client makes requests, each once.
type client struct {
	settings
	http   *http.Client
	limits *limiter
	now    func() time.Time
}

// call is one request.
type call struct {
	doing  string // for people: "asking for GPUs"; what follows names RunPod
	method string
	path   string // below /v2
	root   bool   // path is below the origin instead
	query  url.Values
	body   any           // nil = none
	limit  time.Duration // 0 = requestTime
}

// do makes a request and decodes the answer into out, where that is not nil.
func (c *client) do(ctx context.Context, what call, out any) error {
	if err := c.limits.check(c.now(), what.doing); err != nil {
		return err
	}
	limit := what.limit
	if limit == 0 {
		limit = requestTime
	}
	short, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := c.request(short, what)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return unanswered(ctx, what.doing, err)
	}
	defer resp.Body.Close()
	c.limits.learn(c.now(), resp.Header)
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return unanswered(ctx, what.doing, err)
	}
	if resp.StatusCode/100 != 2 {
		return ofStatus(what.doing, resp.StatusCode, resp.Header, text)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return unsure(sdk.Errorf(sdk.Internal, "%s: RunPod's answer is not what its API describes: %v", what.doing, err))
	}
	return nil
}

func (c *client) request(ctx context.Context, what call) (*http.Request, error) {
	var body io.Reader
	if what.body != nil {
		data, err := json.Marshal(what.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	address := c.api + "/v2" + what.path
	if what.root {
		address = c.api + what.path
	}
	if len(what.query) > 0 {
		address += "?" + what.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, what.method, address, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", userAgent) // RunPod's edge refuses requests without one
	req.Header.Set("Accept", "application/json, application/problem+json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// unanswered is the error of a request that got no whole answer. ctx is the caller's.
func unanswered(ctx context.Context, doing string, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("%s: %w", doing, context.Canceled)
	}
	var own *sdk.Error
	if errors.As(err, &own) {
		e := &sdk.Error{Code: own.Code, Message: doing + ": " + own.Message, Seconds: own.Seconds}
		switch own.Code {
		case sdk.Unavailable, sdk.Internal:
			return unsure(e)
		}
		return e // the host has not sent it
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return unsure(sdk.Errorf(sdk.Unavailable, "%s: RunPod did not answer in time", doing))
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return unsure(sdk.Errorf(sdk.Unavailable, "%s: RunPod cannot be reached: %v", doing, err))
}
