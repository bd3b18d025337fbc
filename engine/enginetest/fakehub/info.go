package fakehub

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

const dateForm = "2006-01-02T15:04:05.000Z"

func (h *Hub) whoAmI(r *request) error {
	user := h.user(r.Request)
	if user == "" {
		return h.refused(r)
	}
	return r.json(map[string]any{
		"type": "user", "id": blobName(user), "name": user, "fullname": user, "isPro": false, "orgs": []any{},
		"auth": map[string]any{"type": "access_token", "accessToken": map[string]any{"displayName": "token", "role": "read"}},
	})
}

// blobName makes an identifier of 24 digits out of a name.
func blobName(name string) string {
	id, err := blobID(Text(name))
	if err != nil {
		panic(err) // texts can be read
	}
	return id[:24]
}

func (h *Hub) info(r *request, found *repo, c *commit) error {
	all := found.describe(c, r.URL.Query().Get("blobs") == "true")
	if wanted := r.URL.Query()["expand"]; len(wanted) > 0 {
		maps.DeleteFunc(all, func(key string, _ any) bool { return key != "id" && !slices.Contains(wanted, key) })
	}
	all["_id"] = blobName(found.ID)
	return r.json(all)
}

// describe is all that the Hub says of a repository, but for its _id.
func (r *repo) describe(c *commit, blobs bool) map[string]any {
	first, last := r.commits[0], r.commits[len(r.commits)-1]
	used := int64(0)
	for _, f := range c.files {
		used += f.content.Size()
	}
	author, _, _ := strings.Cut(r.ID, "/")
	all := map[string]any{
		"id": r.ID, "author": author, "sha": c.sha, "private": r.Private, "gated": any(false), "disabled": r.Disabled,
		"downloads": 0, "likes": 0, "tags": []string{}, "createdAt": first.date.Format(dateForm), "lastModified": last.date.Format(dateForm),
		"usedStorage": used, "siblings": siblings(c, blobs),
	}
	if r.Gated != "" {
		all["gated"] = r.Gated
	}
	if r.Type == Model {
		all["modelId"] = r.ID
	}
	maps.Copy(all, r.Info)
	return all
}

func siblings(c *commit, blobs bool) []map[string]any {
	all := []map[string]any{}
	for _, p := range c.paths {
		s := map[string]any{"rfilename": p}
		if f := c.files[p]; blobs {
			s["size"], s["blobId"] = f.content.Size(), f.oid
			if f.kind != Git {
				s["lfs"] = map[string]any{"sha256": f.sha256, "size": f.content.Size(), "pointerSize": len(f.pointer())}
			}
		}
		all = append(all, s)
	}
	return all
}

type ref struct {
	Name   string `json:"name"`
	Ref    string `json:"ref"`
	Target string `json:"targetCommit"`
}

func (h *Hub) refs(r *request, found *repo) error {
	query := r.URL.Query().Get("include_prs")
	h.mu.Lock()
	all := found.listRefs(query != "" && query != "false" && query != "0")
	h.mu.Unlock()
	return r.json(all)
}

// listRefs are the branches and tags. The caller holds the hub's lock.
func (r *repo) listRefs(pulls bool) map[string]any {
	list := func(names map[string]int, prefix string) []ref {
		all := []ref{}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			all = append(all, ref{name, prefix + name, r.commits[names[name]].sha})
		}
		return all
	}
	answer := map[string]any{"branches": list(r.Branches, "refs/heads/"), "tags": list(r.Tags, "refs/tags/"), "converts": []ref{}}
	if pulls {
		numbers := map[string]int{}
		for n, at := range r.Pulls {
			numbers[fmt.Sprintf("refs/pr/%d", n)] = at
		}
		answer["pullRequests"] = list(numbers, "")
	}
	return answer
}

// entry is a file or a folder in a tree.
type entry struct {
	Type       string    `json:"type"`
	OID        string    `json:"oid"`
	Size       int64     `json:"size"`
	Path       string    `json:"path"`
	LFS        *lfs      `json:"lfs,omitempty"`
	XetHash    string    `json:"xetHash,omitempty"`
	LastCommit *changed  `json:"lastCommit,omitempty"`
	Security   *security `json:"securityFileStatus,omitempty"`
}

type lfs struct {
	OID         string `json:"oid"`
	Size        int64  `json:"size"`
	PointerSize int    `json:"pointerSize"`
}

type changed struct {
	ID    string    `json:"id"`
	Title string    `json:"title"`
	Date  time.Time `json:"date"`
}

type security struct {
	Status string `json:"status"`
	AV     any    `json:"avScan"`
	Pickle any    `json:"pickleImportScan"`
}

// entry describes a path of a commit; nil = there is none. The last commit is always the one
// that is looked at.
func (c *commit) entry(p string, expand bool) *entry {
	var e *entry
	if f := c.files[p]; f != nil {
		e = &entry{Type: "file", OID: f.oid, Size: f.content.Size(), Path: p}
		if f.kind != Git {
			e.LFS = &lfs{f.sha256, f.content.Size(), len(f.pointer())}
		}
		if f.kind == Xet {
			e.XetHash = f.xet.hash.String()
		}
	} else if slices.Contains(c.folders(), p) {
		e = &entry{Type: "directory", OID: c.folderID(p), Path: p}
	}
	if e != nil && expand {
		e.LastCommit, e.Security = &changed{c.sha, c.title, c.date}, &security{Status: "unscanned"}
	}
	return e
}

// list are the paths in a folder, with folders first when they are as deep, as the Hub does.
func (c *commit) list(folder string, recursive bool) []string {
	var all []string
	for _, p := range append(c.folders(), c.paths...) {
		inside := folder == "" || strings.HasPrefix(p, folder+"/")
		if inside && (recursive || path.Dir(p) == cmp.Or(folder, ".")) {
			all = append(all, p)
		}
	}
	return all
}
