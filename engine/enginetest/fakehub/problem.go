package fakehub

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
)

// problem is an error as the Hub answers it.
type problem struct {
	status        int
	code, message string // of the headers; empty = the header is missing
}

func (p *problem) Error() string { return p.message }

var (
	errAnonymous  = &problem{http.StatusUnauthorized, "", "Invalid username or password."}
	errToken      = &problem{http.StatusUnauthorized, "", "Invalid credentials in Authorization header"}
	errNoRepo     = &problem{http.StatusNotFound, "RepoNotFound", "Repository not found"}
	errNoEntry    = &problem{http.StatusNotFound, "EntryNotFound", "Entry not found"}
	errDisabled   = &problem{http.StatusForbidden, "", "Access to this resource is disabled."}
	errNoRoute    = &problem{http.StatusNotFound, "", "Sorry, we can't find the page you are looking for."}
	errTooMany    = &problem{http.StatusTooManyRequests, "", "We had to rate limit you"}
	errExpired    = &problem{http.StatusForbidden, "", "AccessDenied: Request has expired"}
	errTooLarge   = &problem{http.StatusBadRequest, "", "The file is too large for one answer; request ranges of it"}
	errSignature  = &problem{http.StatusForbidden, "", "AccessDenied: Access denied"}
	errXetToken   = &problem{http.StatusUnauthorized, "", "Unauthorized"}
	errXetMissing = &problem{http.StatusNotFound, "", "Not Found"}
)

func noRevision(rev string) error {
	return &problem{http.StatusNotFound, "RevisionNotFound", "Invalid rev id: " + rev}
}

const jsonMedia = "application/json; charset=utf-8"

// fail answers an error. The API answers JSON, and all others answer text.
func (r *request) fail(err error) {
	var p *problem
	if !errors.As(err, &p) {
		p = &problem{http.StatusInternalServerError, "", err.Error()}
	}
	if p.code != "" {
		r.w.Header().Set("X-Error-Code", p.code)
	}
	media, body := "text/plain; charset=utf-8", []byte(p.message)
	if r.host == API {
		r.w.Header().Set("X-Error-Message", p.message)
		if r.kind != Resolve {
			media = jsonMedia
			body, _ = json.Marshal(map[string]string{"error": p.message}) // strings cannot fail
		}
	}
	r.write(p.status, media, body)
}

// json answers a value.
func (r *request) json(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	r.write(http.StatusOK, jsonMedia, body)
	return nil
}

func (r *request) write(status int, media string, body []byte) {
	header := r.w.Header()
	header.Set("Content-Type", media)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	r.w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = r.w.Write(body) // the client has gone
	}
}
