package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/guesthttp"
)

var client = http.Client{Transport: guesthttp.Transport{}}

func send(ctx context.Context, method, url string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return nil, err
	}
	return client.Do(req)
}

// text makes a request and reads all of the answer.
func text(ctx context.Context, method, url string) (string, error) {
	resp, err := send(ctx, method, url, nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return fmt.Sprintf("%s %s", resp.Status, data), err
}

// echo sends 8 MiB and reads them back meanwhile.
func echo(ctx context.Context, to road) (report, error) {
	sent := bytes.Repeat([]byte("0123456789abcdef"), 512<<10)
	start := time.Now()
	resp, err := send(ctx, http.MethodPost, to.http+"/open/echo", io.MultiReader(bytes.NewReader(sent)))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	head := milliseconds(start)
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("after %d bytes: %w", len(got), err)
	}
	return report{"same": bytes.Equal(sent, got), "bytes": len(got), "head_ms": head, "ms": milliseconds(start)}, nil
}

// events answers every event that it reads with a request of its own: the next one
// only comes then.
func events(ctx context.Context, to road) (report, error) {
	resp, err := send(ctx, http.MethodGet, to.http+"/open/events", nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var seen []string
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			seen = append(seen, data)
			if _, err := text(ctx, http.MethodPost, to.http+"/open/seen/"+data); err != nil {
				return nil, err
			}
		}
	}
	return report{"seen": seen, "type": resp.Header.Get("Content-Type")}, nil
}

func redirect(ctx context.Context, to road) (report, error) {
	got, err := text(ctx, http.MethodGet, to.http+"/open/redirect")
	if err != nil {
		return nil, err
	}
	_, elsewhere := text(ctx, http.MethodGet, to.http+"/open/astray")
	return report{"got": got, "elsewhere": explain(elsewhere)}, nil
}

// explain says what a caller can tell about an error.
func explain(err error) report {
	return report{"text": fmt.Sprint(err), "code": sdk.CodeOf(err),
		"deadline": errors.Is(err, context.DeadlineExceeded), "cancelled": errors.Is(err, context.Canceled)}
}

func refused(ctx context.Context, to road) (report, error) {
	_, path := text(ctx, http.MethodGet, to.http+"/closed")
	_, method := text(ctx, http.MethodPut, to.http+"/open/echo")
	_, place := text(ctx, http.MethodGet, "https://elsewhere.example/")
	return report{"path": explain(path), "method": explain(method), "place": explain(place)}, nil
}

func timeout(ctx context.Context, to road) (report, error) {
	ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := text(ctx, http.MethodGet, to.http+"/open/silent") // which the request may not even reach in time
	return report{"error": explain(err), "ms": milliseconds(start)}, nil
}

// giveUp closes one answer in the middle and cancels another.
func giveUp(ctx context.Context, to road) (report, error) {
	closed, err := send(ctx, http.MethodGet, to.http+"/open/endless", nil)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cancelled, err := send(ctx, http.MethodGet, to.http+"/open/endless", nil)
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyN(io.Discard, closed.Body, sdk.StreamWindow+1); err != nil {
		return nil, err
	}
	closed.Body.Close()
	cancel()
	_, err = io.Copy(io.Discard, cancelled.Body)
	return report{"error": explain(err)}, nil
}

// secret has its own credential sent back to it.
func secret(ctx context.Context, to road) (report, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to.http+"/open/headers", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "mine")
	req.Header.Set("X-Own", "kept")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return report{"headers": resp.Header, "body": string(body)}, err
}

// patient waits until the engine gives up, and then still does what it has to.
func patient(ctx context.Context, to road) (report, error) {
	_, err := text(ctx, http.MethodGet, to.http+"/open/never")
	return clearUp(ctx, to, err)
}

// asleep is patient without an open stream.
func asleep(ctx context.Context, to road) (report, error) {
	if _, err := text(context.WithoutCancel(ctx), http.MethodGet, to.http+"/open/seen/asleep"); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Hour):
	}
	return clearUp(ctx, to, ctx.Err())
}

func clearUp(ctx context.Context, to road, err error) (report, error) {
	_, left := text(context.WithoutCancel(ctx), http.MethodDelete, to.http+"/open/rented")
	return report{"error": explain(err)}, left
}

// left is what linger leaves behind in the instance.
var left = make(chan error, 1)

// linger returns while a request of its own is still open.
func linger(ctx context.Context, to road) (report, error) {
	resp, err := send(context.WithoutCancel(ctx), http.MethodGet, to.http+"/open/endless", nil)
	if err != nil {
		return nil, err
	}
	go func() {
		_, err := io.Copy(io.Discard, resp.Body)
		left <- err
	}()
	return report{}, nil
}

// lingered tells how that ended, and that the present call is none the worse.
func lingered(ctx context.Context, to road) (report, error) {
	got, err := text(ctx, http.MethodGet, to.http+"/open/redirect")
	if err != nil {
		return nil, err
	}
	return report{"left": explain(<-left), "got": got}, nil
}
