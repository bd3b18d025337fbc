package runtime

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// Headers of calls that have a name.
const (
	headerCallID   = "Seer-Call-Id"
	headerCallAge  = "Seer-Call-Age"  // seconds since the client first sent it; only on a repeat
	headerCallDone = "Seer-Call-Done" // names of calls whose answers have arrived
)

var callID = regexp.MustCompile(`^[A-Za-z0-9_.-]{8,100}$`)

func checkCallID(id string) error {
	if !callID.MatchString(id) {
		return protocol.Errorf(protocol.Invalid, "%q is no name for a call: 8 to 100 letters, digits, _ . and -", id)
	}
	return nil
}

// postKeptCall begins a call that has a name, or joins it.
func (s *Server) postKeptCall(w http.ResponseWriter, r *http.Request, v *service) error {
	id := r.Header.Get(headerCallID)
	if err := checkCallID(id); err != nil {
		return err
	}
	ctx, cancel, err := queryWait(r)
	if err != nil {
		return err
	}
	defer cancel()
	for name := range strings.SplitSeq(r.Header.Get(headerCallDone), ",") {
		if name = strings.TrimSpace(name); checkCallID(name) == nil {
			v.calls.giveUp(name)
		}
	}
	k := v.calls.find(id)
	if k == nil {
		k, err = s.beginKeptCall(r, v, id)
	} else {
		_, err = io.Copy(io.Discard, r.Body) // a tunnel may want to get rid of it first
	}
	if err != nil {
		return err
	}
	return v.sendKept(ctx, w, k)
}

// beginKeptCall takes the arguments in before the call begins: a request that is
// cut has not begun anything.
func (s *Server) beginKeptCall(r *http.Request, v *service, id string) (*keptCall, error) {
	if err := s.sameRuntime(r); err != nil {
		return nil, err
	}
	from, _, err := s.callBody(r)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	body := &store{dir: s.scratch}
	if _, err := io.Copy(body, from); err != nil {
		body.close()
		return nil, err
	}
	fn := r.PathValue("function")
	k, began, err := v.calls.begin(id, s.scratch, func(ctx context.Context, w http.ResponseWriter) error {
		defer body.close()
		defer s.lease.begin()()
		return s.call(ctx, w, v, fn, body.reader(), body.size)
	})
	if !began {
		body.close()
	}
	return k, err
}

// sameRuntime refuses a repeat of what may have reached a runtime before this one.
func (s *Server) sameRuntime(r *http.Request) error {
	text := r.Header.Get(headerCallAge)
	if text == "" {
		return nil
	}
	age, err := strconv.ParseFloat(text, 64)
	if err != nil || !(age >= 0 && age < 1e9) {
		return protocol.Errorf(protocol.Invalid, "%s: %s is not a number of seconds", headerCallAge, text)
	}
	const onItsWay = 2 * time.Second
	if time.Since(s.born) > seconds(age)+onItsWay {
		return nil
	}
	return &protocol.CallError{Code: protocol.CallInterrupted,
		Message: "the runtime was started again after the call was sent; it may have had effects and was not repeated"}
}

func (s *Server) getKeptCall(w http.ResponseWriter, r *http.Request) error {
	v, err := s.services.get(r.PathValue("service"))
	if err != nil {
		return err
	}
	ctx, cancel, err := queryWait(r)
	if err != nil {
		return err
	}
	defer cancel()
	id := r.PathValue("id")
	v.calls.mu.Lock()
	k := v.calls.table[id]
	v.calls.mu.Unlock()
	if k == nil {
		return protocol.Errorf(protocol.NotFound, "there is no call %q", id)
	}
	return v.sendKept(ctx, w, k)
}

// sendKept answers with a call's outcome, or that there is none yet.
func (v *service) sendKept(ctx context.Context, w http.ResponseWriter, k *keptCall) error {
	if !v.calls.wait(ctx, k) {
		return writeJSON(w, http.StatusAccepted, map[string]string{"id": k.id})
	}
	return v.calls.send(w, k)
}

func (s *Server) deleteKeptCall(w http.ResponseWriter, r *http.Request) error {
	v, err := s.services.get(r.PathValue("service"))
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	if err := checkCallID(id); err != nil {
		return err
	}
	v.calls.giveUp(id)
	return writeJSON(w, http.StatusOK, struct{}{})
}
