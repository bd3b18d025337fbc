package client

import (
	"context"
	"io"
	"net/http"

	"github.com/seer-engine/seer/engine/protocol/tartree"
)

// ReadTree gives out the content of a folder of the machine as a tar stream: files,
// folders, links; modes and times kept. The caller closes it. A stream that breaks off
// ends with an error, not with io.EOF.
func (c Files) ReadTree(ctx context.Context, path string) (io.ReadCloser, error) {
	resp, err := c.do(ctx, http.MethodGet, "/v1/tree", pathQuery(path), nil)
	if err != nil {
		return nil, err
	}
	if told := counter(ctx); told != nil {
		return struct {
			io.Reader
			io.Closer
		}{tartree.Counting(resp.Body, told), resp.Body}, nil
	}
	return resp.Body, nil
}

// WriteTree unpacks a tar stream into a folder of the machine, over what is there.
// Entries that would leave the folder, hard links and devices are left out and are the
// error, after the rest has been written.
func (c Files) WriteTree(ctx context.Context, path string, r io.Reader) error {
	return c.put(ctx, "/v1/tree", pathQuery(path), tartree.Counting(r, counter(ctx)))
}

// RestoreTree is [Files.WriteTree] of a tree of a machine's own: symlinks lead wherever
// they led when it was read.
func (c Files) RestoreTree(ctx context.Context, path string, r io.Reader) error {
	q := pathQuery(path)
	q.Set("links", "1")
	return c.put(ctx, "/v1/tree", q, tartree.Counting(r, counter(ctx)))
}
