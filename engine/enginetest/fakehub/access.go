package fakehub

import (
	"net/http"
	"slices"
	"strings"
)

// bearer is the token of a request.
func bearer(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

// user is who sends a request; empty = nobody known.
func (h *Hub) user(r *http.Request) string { return h.options.Users[bearer(r)] }

// mayRead is true for the owner and the readers.
func (r *repo) mayRead(user string) bool {
	owner, _, named := strings.Cut(r.ID, "/")
	return user != "" && (named && owner == user || slices.Contains(r.Readers, user))
}

// find returns the repository that a request names. One that the user must not see is missing.
// For one that has another name, it answers with a redirect and returns nil.
func (h *Hub) find(r *request) (*repo, error) {
	found, id, err := h.lookUp(r)
	if err == nil && id != r.id {
		r.moved(id)
		return nil, nil
	}
	return found, err
}

// lookUp returns the repository and its present ID.
func (h *Hub) lookUp(r *request) (found *repo, id string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	found = h.known(r.repo)
	user := h.user(r.Request)
	switch {
	case (found == nil || found.Private && !found.mayRead(user)) && user != "":
		return nil, "", errNoRepo
	case found == nil || found.Private && !found.mayRead(user):
		return nil, "", h.refused(r)
	case found.Disabled:
		return nil, "", errDisabled
	}
	now := *found // later changes leave it as it is
	return &now, found.ID, nil
}

// known finds a repository by its name or a former one. The caller holds the lock.
func (h *Hub) known(name string) *repo {
	for h.repos[name] == nil && h.renamed[name] != "" {
		name = h.renamed[name]
	}
	return h.repos[name]
}

// refused is the error of a request without a good token.
func (h *Hub) refused(r *request) error {
	if bearer(r.Request) != "" {
		return errToken
	}
	return errAnonymous
}

// checkAccess refuses users that may not fetch files.
func (h *Hub) checkAccess(r *request, found *repo) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	user := h.user(r.Request)
	if found.Gated == "" || found.mayRead(user) {
		return nil
	}
	start := "Access to " + strings.TrimSuffix(string(found.Type), "s") + " " + found.ID + " is restricted"
	if user == "" {
		return &problem{http.StatusUnauthorized, "GatedRepo", start + ". You must have access to it and be authenticated to access it. Please log in."}
	}
	return &problem{http.StatusForbidden, "GatedRepo", start + " and you are not in the authorized list. Visit " + h.URL(API) + "/" + found.Name() + " to ask for access."}
}

// moved redirects to the same request for a repository's new name.
func (r *request) moved(id string) {
	location := strings.Replace(r.URL.EscapedPath(), "/"+r.id, "/"+id, 1)
	if r.URL.RawQuery != "" {
		location += "?" + r.URL.RawQuery
	}
	r.redirect(http.StatusTemporaryRedirect, location)
}
