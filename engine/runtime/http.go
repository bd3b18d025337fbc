package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// maxJSON is the most that is read of a request with JSON. Files and calls have
// no such limit.
const maxJSON = 64 << 20

func writeJSON(w http.ResponseWriter, status int, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // a client that is gone needs no answer
	return nil
}

type errorBody struct {
	Error any `json:"error"`
}

// writeError answers with an error. Its text may name paths of the machine, and
// never holds a secret.
func writeError(w http.ResponseWriter, err error) {
	var call *protocol.CallError
	if errors.As(err, &call) {
		_ = writeJSON(w, http.StatusUnprocessableEntity, errorBody{call})
		return
	}
	e := asError(err)
	_ = writeJSON(w, e.Code.Status(), errorBody{e})
}

// asError classifies the errors of the operating system.
func asError(err error) *protocol.Error {
	var e *protocol.Error
	code := protocol.Internal
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return protocol.Errorf(protocol.NoSpace, "the machine's disk is full: %v", err)
	case errors.Is(err, fs.ErrNotExist):
		code = protocol.NotFound
	case errors.Is(err, fs.ErrExist), errors.Is(err, syscall.ENOTEMPTY):
		code = protocol.Conflict
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENAMETOOLONG),
		errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ELOOP), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		code = protocol.Invalid
	case errors.Is(err, context.Canceled), errors.Is(err, io.ErrUnexpectedEOF):
		code = protocol.Unavailable
	}
	var at *fs.PathError
	if errors.As(err, &at) && at.Error() == err.Error() { // without the name of the system call
		return protocol.Errorf(code, "%s: %v", at.Path, at.Err)
	}
	return protocol.Errorf(code, "%v", err)
}

// abort cuts an answer that has begun, so that the client does not take a part
// for the whole.
func abort(error) { panic(http.ErrAbortHandler) }

// readJSON decodes a request strictly: an unknown field is a mistake.
func readJSON(r *http.Request, v any) error {
	d := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxJSON))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return protocol.Errorf(protocol.Invalid, "the request is not the JSON that is expected: %v", err)
	}
	return nil
}

// queryInt reads a number of the query that is at least 0.
func queryInt(q url.Values, name string) (int64, error) {
	if !q.Has(name) {
		return 0, nil
	}
	n, err := strconv.ParseInt(q.Get(name), 10, 64)
	if err != nil || n < 0 {
		return 0, protocol.Errorf(protocol.Invalid, "%s=%s is not a number of at least 0", name, q.Get(name))
	}
	return n, nil
}

// queryWait reads the seconds that a client is ready to wait.
func queryWait(r *http.Request) (context.Context, context.CancelFunc, error) {
	wait := 0.0
	if text := r.URL.Query().Get("wait"); text != "" {
		var err error
		if wait, err = strconv.ParseFloat(text, 64); err != nil || !(wait >= 0 && wait <= 3600) {
			return nil, nil, protocol.Errorf(protocol.Invalid, "wait=%s is not a number of seconds up to 3600", text)
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), seconds(wait))
	return ctx, cancel, nil
}

func queryMode(q url.Values, otherwise fs.FileMode) (fs.FileMode, error) {
	text := q.Get("mode")
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseUint(text, 8, 32)
	if err != nil || n > 0o777 {
		return 0, protocol.Errorf(protocol.Invalid, "mode=%s is not an octal mode up to 0777", text)
	}
	return fs.FileMode(n), nil
}

func (s *Server) getLoader(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, protocol.LoaderInfo{Loader: protocol.Version, Started: true})
}

func (s *Server) getHealth(w http.ResponseWriter, _ *http.Request) error {
	busy := s.busy()
	_, last := s.lease.used(time.Now())
	h := protocol.Health{Version: s.options.Version, StartedUnix: s.started, NowUnix: time.Now().Unix(),
		Python: s.python(s.config()), Services: map[string]protocol.ServiceState{}, Lease: s.lease.describe(), Busy: busy, LastUseUnix: last.Unix()}
	for _, v := range s.services.all() {
		v.mu.Lock()
		if g := v.shown(0); g != nil {
			h.Services[v.name] = g.state
		}
		v.mu.Unlock()
	}
	return writeJSON(w, http.StatusOK, h)
}

func (s *Server) putConfig(w http.ResponseWriter, r *http.Request) error {
	var cfg protocol.Config
	if err := readJSON(r, &cfg); err != nil {
		return err
	}
	if err := checkConfig(cfg); err != nil {
		return err
	}
	if cfg.Workdir != "" {
		if err := os.MkdirAll(s.real(cfg.Workdir), 0o755); err != nil {
			return err
		}
	}
	old := s.configured.Swap(&cfg)
	if old.Price != cfg.Price {
		for _, v := range s.services.all() {
			v.tellTokens()
		}
	}
	s.persist()
	return writeJSON(w, http.StatusOK, struct{}{})
}

func (s *Server) getConfig(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, configInfo(s.config(), s))
}

func (s *Server) getLease(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, s.lease.describe())
}

func (s *Server) putLease(w http.ResponseWriter, r *http.Request) error {
	var req protocol.LeaseRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	if err := s.lease.take(req); err != nil {
		return err
	}
	s.persist()
	s.tellLease(time.Now())
	return writeJSON(w, http.StatusOK, s.lease.describe())
}

func (s *Server) postShutdown(w http.ResponseWriter, _ *http.Request) error {
	defer s.End("a client asked for it")
	return writeJSON(w, http.StatusOK, struct{}{})
}
