package fakehub

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const xetFileInfo = "application/vnd.xet-fileinfo+json"

// resolve answers where a file's content is, or the content of a small one.
func (h *Hub) resolve(r *request, found *repo, c *commit, f *file) error {
	header := r.w.Header()
	if f.kind == Git {
		if found.Private || found.Gated != "" || !strings.Contains(found.ID, "/") || f.content.Size() == 0 {
			return r.serve(f.content, f.oid)
		}
		header.Set("ETag", strconv.Quote(f.oid))
		at := fmt.Sprintf("/api/%s/%s/%s/%s/%s", ResolveCache, found.Type, found.ID, c.sha, escape(r.path))
		r.redirect(http.StatusTemporaryRedirect, at+"?etag="+url.QueryEscape(strconv.Quote(f.oid)))
		return nil
	}
	header.Set("X-Linked-Size", strconv.FormatInt(f.content.Size(), 10))
	header.Set("X-Linked-ETag", strconv.Quote(f.sha256))
	header.Set("Accept-Ranges", "bytes")
	if f.kind == Xet {
		hash := f.xet.hash.String()
		header.Set("X-Xet-Hash", hash)
		header.Set("Link", fmt.Sprintf("<%s/api/%s/%s/xet-read-token/%s>; rel=\"xet-auth\", <%s/v1/reconstructions/%s>; rel=\"xet-reconstruction-info\"",
			h.URL(API), found.Type, found.ID, c.sha, h.URL(XetStorage), hash))
		if r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), xetFileInfo) {
			r.write(http.StatusOK, xetFileInfo, fmt.Appendf(nil, `{"hash":%q}`, hash))
			return nil
		}
	}
	if r.fault.Redirect == Relative {
		r.redirect(http.StatusFound, h.signer.sign("/api/blobs/"+f.sha256, ""))
		return nil
	}
	r.redirect(http.StatusFound, h.URL(CDN)+h.signer.sign("/blobs/"+f.sha256, ""))
	return nil
}

func escape(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}

// serve sends content, or the ranges of it that the request names.
func (r *request) serve(content io.ReaderAt, tag string) error {
	size, ok := content.(interface{ Size() int64 })
	if !ok {
		return fmt.Errorf("the content %T has no size", content)
	}
	r.w.Header().Set("ETag", strconv.Quote(tag))
	r.w.Header().Set("Content-Type", "application/octet-stream")
	in, length := r.Request, size.Size()
	if r.fault.NoRange && in.Header.Get("Range") != "" {
		r.w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", length))
		return &problem{http.StatusRequestedRangeNotSatisfiable, "", "The requested range is not satisfiable"}
	}
	if r.fault.IgnoreRange {
		in = in.Clone(in.Context())
		in.Header.Del("Range")
	}
	if r.fault.Short > 0 {
		length = min(length, r.fault.Short)
	}
	http.ServeContent(r.w, in, "", time.Time{}, io.NewSectionReader(content, 0, length))
	return nil
}

func (h *Hub) serveCDN(r *request) error {
	if r.kind != Blob {
		return errNoRoute
	}
	return h.blob(r)
}

// blob serves a large file by a signed URL. The tag is not the content's SHA-256.
func (h *Hub) blob(r *request) error {
	if err := h.signer.verify(r); err != nil {
		return err
	}
	h.mu.Lock()
	f := h.blobs[r.path]
	h.mu.Unlock()
	if f == nil {
		return errNoEntry
	}
	if f.content.Size() > h.options.LargestWhole && r.Header.Get("Range") == "" {
		return errTooLarge
	}
	tag := sha256.Sum256([]byte("cdn " + f.sha256))
	return r.serve(f.content, hex.EncodeToString(tag[:]))
}
