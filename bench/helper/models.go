package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine/transfer"
)

// weights is a server of one file on loopback.
type weights struct {
	url    string
	file   string
	size   int64
	sha256 string
}

// publish makes a file of random bytes and serves it at two addresses: /fast, and /slow,
// where each connection has as many bytes per second as the request says.
func (h *helper) publish(_ context.Context, r request) (any, error) {
	w := &weights{file: filepath.Join(r.Dir, "weights"), size: int64(r.Count)}
	f, err := os.Create(w.file)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	_, err = io.CopyN(io.MultiWriter(f, sum), rand.Reader, w.size)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	w.sha256 = hex.EncodeToString(sum.Sum(nil))
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		f, err := os.Open(w.file)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusInternalServerError)
			return
		}
		defer f.Close()
		if req.URL.Path == "/slow" {
			rw = &slow{ResponseWriter: rw, rate: float64(r.Rate), begin: time.Now()}
		}
		http.ServeContent(rw, req, "", time.Time{}, f)
	}))
	w.url = server.URL
	h.weights = w
	h.held = append(h.held, server.Close)
	return map[string]string{"url": w.url, "sha256": w.sha256}, nil
}

// slow lets an answer have so many bytes per second.
type slow struct {
	http.ResponseWriter
	rate  float64
	begin time.Time
	sent  int
}

func (s *slow) Write(b []byte) (int, error) {
	n, err := s.ResponseWriter.Write(b)
	s.sent += n
	time.Sleep(time.Until(s.begin.Add(time.Duration(float64(s.sent) / s.rate * float64(time.Second)))))
	return n, err
}

// download fetches the file that is published: with the engine's mover, or directly with
// one request. The time ends when the content is on disk.
func (w *weights) download(ctx context.Context, r request) (any, error) {
	url, target := w.url+"/"+r.File, filepath.Join(r.Dir, "got")
	begin := time.Now()
	var err error
	if r.Direct {
		err = floor(ctx, url, target)
	} else {
		f := transfer.File{Path: "got", Size: w.size, SHA256: w.sha256, Source: transfer.Whole(url, nil, w.size)}
		err = transfer.Download(ctx, []transfer.File{f}, transfer.Options{Dir: r.Dir})
	}
	t := since(begin)
	return t, errors.Join(err, os.Remove(target))
}

// plainGet makes a request with nothing but Go's own client. The caller closes the answer.
func plainGet(ctx context.Context, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(req)
}

func floor(ctx context.Context, url, target string) error {
	resp, err := plainGet(ctx, url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answered %s", resp.Status)
	}
	f, err := os.Create(target)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, resp.Body)
	return errors.Join(err, f.Sync(), f.Close())
}
