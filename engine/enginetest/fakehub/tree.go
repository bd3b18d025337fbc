package fakehub

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
)

// tree answers a page of the entries of a folder.
func (h *Hub) tree(r *request, found *repo, c *commit) error {
	query := r.URL.Query()
	folder := r.path
	if folder != "" && !slices.Contains(c.folders(), folder) {
		return &problem{http.StatusNotFound, "EntryNotFound", folder + " does not exist on " + strconv.Quote(r.rev)}
	}
	expand := query.Get("expand") == "true"
	paths := c.list(folder, query.Get("recursive") == "true")
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil || limit < 1 || limit > h.options.PageSize {
		limit = h.options.PageSize
	}
	from := 0
	if cursor := query.Get("cursor"); cursor != "" {
		text, err := base64.RawURLEncoding.DecodeString(cursor)
		if from, _ = strconv.Atoi(string(text)); err != nil || from < 0 || from > len(paths) {
			return &problem{http.StatusBadRequest, "", "Invalid cursor"}
		}
	}
	page := []*entry{}
	for _, p := range paths[from:min(from+limit, len(paths))] {
		page = append(page, c.entry(p, expand))
	}
	if next := from + limit; next < len(paths) {
		query.Set("cursor", base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(next))))
		query.Set("limit", strconv.Itoa(limit))
		r.w.Header().Set("Link", fmt.Sprintf("<%s%s?%s>; rel=\"next\"", h.URL(API), r.URL.EscapedPath(), query.Encode()))
	}
	return r.json(page)
}

// pathsInfo answers the entries of some paths, and nothing for those that are missing.
func (h *Hub) pathsInfo(r *request, c *commit) error {
	var body struct {
		Paths  []string `json:"paths"`
		Expand bool     `json:"expand"`
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err == nil && media == "application/x-www-form-urlencoded":
		if err := r.ParseForm(); err != nil {
			return &problem{http.StatusBadRequest, "", err.Error()}
		}
		body.Paths, body.Expand = r.PostForm["paths"], r.PostForm.Get("expand") == "true"
	default:
		if err := json.NewDecoder(http.MaxBytesReader(r.w, r.Body, 8<<20)).Decode(&body); err != nil {
			return &problem{http.StatusBadRequest, "", err.Error()}
		}
	}
	found := []*entry{}
	for _, p := range body.Paths {
		if e := c.entry(p, body.Expand); e != nil {
			found = append(found, e)
		}
	}
	return r.json(found)
}
