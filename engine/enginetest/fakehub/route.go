package fakehub

import (
	"net/url"
	"slices"
	"strings"
)

// parse finds out what a request is about, from its path.
func (r *request) parse() {
	parts := strings.Split(strings.Trim(r.URL.EscapedPath(), "/"), "/")
	for i, part := range parts {
		if text, err := url.PathUnescape(part); err == nil {
			parts[i] = text
		}
	}
	switch r.host {
	case API:
		r.parseAPI(parts)
	case CDN:
		if len(parts) == 2 && parts[0] == "blobs" {
			r.kind, r.path = Blob, parts[1]
		}
	case XetStorage:
		r.parseXet(parts)
	}
}

// calls are the words after a repository's name in the API.
var calls = map[string]Call{
	"revision": Info, "tree": Tree, "paths-info": PathsInfo, "refs": Refs, "auth-check": AuthCheck, "xet-read-token": XetToken,
}

func (r *request) parseAPI(parts []string) {
	switch {
	case parts[0] != "api":
		r.parseResolve(parts)
	case len(parts) == 2 && parts[1] == "whoami-v2":
		r.kind = WhoAmI
	case len(parts) == 3 && parts[1] == "blobs": // of a mirror
		r.kind, r.path = Blob, parts[2]
	case len(parts) > 3 && parts[1] == string(ResolveCache):
		rest := r.parseID(parts[2:], func(rest []string) bool { return len(rest) > 1 && len(rest[0]) == 40 })
		if len(rest) > 1 {
			r.kind, r.rev, r.path = ResolveCache, rest[0], strings.Join(rest[1:], "/")
		}
	case len(parts) > 2:
		rest := r.parseID(parts[1:], func(rest []string) bool { return len(rest) > 0 && calls[rest[0]] != "" })
		switch {
		case r.repo == "":
		case len(rest) == 0:
			r.kind = Info
		default:
			r.kind = calls[rest[0]]
			r.parseRevision(rest[1:])
		}
		if r.kind == "" {
			r.kind = Other
		}
	}
}

func (r *request) parseResolve(parts []string) {
	if t := Type(parts[0]); t != Dataset && t != Space {
		parts = append([]string{string(Model)}, parts...)
	}
	rest := r.parseID(parts, func(rest []string) bool { return len(rest) > 2 && rest[0] == "resolve" })
	if len(rest) > 2 && rest[0] == "resolve" {
		r.kind = Resolve
		r.parseRevision(rest[1:])
	}
}

// parseID reads a type and an ID of two parts, or of one part if what follows it fits.
func (r *request) parseID(parts []string, fits func(rest []string) bool) (rest []string) {
	t := Type(parts[0])
	if !slices.Contains([]Type{Model, Dataset, Space}, t) || len(parts) < 2 {
		return nil
	}
	n := 2
	if len(parts) == 2 || fits(parts[2:]) {
		n = 1
	}
	r.id = strings.Join(parts[1:n+1], "/")
	r.repo = Repo{ID: r.id, Type: t}.Name()
	return parts[n+1:]
}

// parseRevision reads a revision, which has slashes of its own only as refs/pr/1, and a path.
func (r *request) parseRevision(rest []string) {
	n := min(1, len(rest))
	if len(rest) >= 3 && rest[0] == "refs" {
		n = 3
	}
	r.rev, r.path = strings.Join(rest[:n], "/"), strings.Join(rest[n:], "/")
}

// serveAPI answers the API and resolve.
func (h *Hub) serveAPI(r *request) error {
	if err := h.limiter.take(r, h.user(r.Request)); err != nil {
		return err
	}
	if r.kind == WhoAmI {
		return h.whoAmI(r)
	}
	if r.kind == Blob {
		return h.blob(r)
	}
	if r.kind == Other {
		return errNoRoute
	}
	if (r.kind == PathsInfo) != (r.Method == "POST") || r.Method != "POST" && r.Method != "GET" && r.Method != "HEAD" {
		return errNoRoute
	}
	found, err := h.find(r)
	if found == nil {
		return err
	}
	switch r.kind {
	case Refs:
		return h.refs(r, found)
	case AuthCheck:
		if err := h.checkAccess(r, found); err != nil {
			return err
		}
		return r.json(map[string]any{})
	}
	return h.serveCommit(r, found)
}

// serveCommit answers what is about one commit.
func (h *Hub) serveCommit(r *request, found *repo) error {
	if r.kind == Resolve || r.kind == ResolveCache || r.kind == XetToken {
		if err := h.checkAccess(r, found); err != nil {
			return err
		}
	}
	if r.rev == "" {
		r.rev = "main"
	}
	h.mu.Lock()
	c := found.at(r.rev)
	h.mu.Unlock()
	if c == nil {
		return noRevision(r.rev)
	}
	switch r.kind {
	case Info:
		return h.info(r, found, c)
	case Tree:
		return h.tree(r, found, c)
	case PathsInfo:
		return h.pathsInfo(r, c)
	case XetToken:
		return storage{h}.token(r, found)
	}
	r.w.Header().Set("X-Repo-Commit", c.sha)
	f := c.files[r.path]
	if f == nil {
		return errNoEntry
	}
	if r.kind == ResolveCache {
		if f.kind != Git {
			return errNoEntry
		}
		return r.serve(f.content, f.oid)
	}
	return h.resolve(r, found, c, f)
}
