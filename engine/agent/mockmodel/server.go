package mockmodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// maxRequest limits the bytes of a request: a conversation with its images.
const maxRequest = 64 << 20

// Server answers the requests of agents by a script. It is an [http.Handler]. It neither checks nor
// logs keys.
type Server struct {
	script *Script
	log    io.Writer

	mu     sync.Mutex
	failed map[int]int // number of failed requests, by turn
	logErr error
}

// Exchange is a line of the log: a request and the model's answer.
type Exchange struct {
	Time  time.Time `json:"time"`
	API   string    `json:"api"`  // anthropic, responses, chat or gemini
	Turn  int       `json:"turn"` // index in the script; -1 = none of them
	Past  []Entry   `json:"past"` // answers to calls, and the texts with which the model ended its turns
	Say   string    `json:"say,omitempty"`
	Call  string    `json:"call,omitempty"` // as the agent names the tool
	With  object    `json:"with,omitempty"`
	Fault string    `json:"fault,omitempty"`
	// Request is the body that the agent has sent.
	Request json.RawMessage `json:"request"`
}

// New returns a server. For each request for an answer of the model, it writes an [Exchange] as a
// line of JSON to log; nil = no log.
func New(script *Script, log io.Writer) *Server {
	return &Server{script: script, log: log, failed: map[int]int{}}
}

// ServeHTTP answers a request in the interface of its path.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if r.Method != http.MethodPost {
		send(w, http.StatusOK, object{"data": []any{}, "models": []any{}, "object": "list"})
		return
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	var body object
	if err == nil && len(raw) > 0 {
		err = json.Unmarshal(raw, &body)
	}
	a := apiOf(path)
	switch {
	case err != nil:
		send(w, http.StatusBadRequest, object{"error": object{"message": "the request is not a JSON object: " + err.Error()}})
	case strings.HasSuffix(path, "/count_tokens"), strings.HasSuffix(path, ":countTokens"):
		send(w, http.StatusOK, object{"input_tokens": len(raw) / 4, "totalTokens": len(raw) / 4})
	case a == nil:
		send(w, http.StatusNotFound, object{"error": object{"message": path + " belongs to none of the interfaces of the scripted model"}})
	default:
		s.answer(w, r, a, body, raw)
	}
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, a *api, body object, raw []byte) {
	c := a.read(body)
	c.stream = c.stream || strings.HasSuffix(r.URL.Path, ":streamGenerateContent")
	next := s.script.play(c)
	fault := s.faultOf(next)
	s.note(a, c, next, fault, raw)
	if fault == nil {
		fault = &Fault{}
	}
	if fault.Hang > 0 {
		select {
		case <-time.After(fault.Hang):
		case <-r.Context().Done():
			return
		}
	}
	switch {
	case fault.Status != 0:
		if fault.Status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		send(w, fault.Status, a.failure(fault.Status, "the script has this request fail"))
	case c.stream:
		sendEvents(w, a.stream(c, next), fault.Cut)
	case fault.Cut:
		panic(http.ErrAbortHandler)
	default:
		send(w, http.StatusOK, a.whole(c, next))
	}
}

// faultOf returns the fault for this request; nil = none.
func (s *Server) faultOf(next answer) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if next.fault == nil || s.failed[next.turn] >= next.fault.Times {
		return nil
	}
	s.failed[next.turn]++
	return next.fault
}

func (s *Server) note(a *api, c conversation, next answer, fault *Fault, raw []byte) {
	if s.log == nil {
		return
	}
	e := Exchange{Time: time.Now().UTC(), API: a.name, Turn: next.turn, Past: c.past, Say: next.say, Request: raw}
	if next.call != nil {
		e.Call, e.With = next.call.tool.name, next.call.arguments
	}
	if fault != nil {
		e.Fault = fault.String()
	}
	line, err := json.Marshal(e)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		_, err = s.log.Write(append(line, '\n'))
	}
	if err != nil && s.logErr == nil {
		s.logErr = err
	}
}

// Err returns the first error of writing the log.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logErr
}

// String describes the fault.
func (f *Fault) String() string {
	var parts []string
	if f.Hang > 0 {
		parts = append(parts, "hang "+f.Hang.String())
	}
	if f.Status != 0 {
		parts = append(parts, fmt.Sprintf("status %d", f.Status))
	}
	if f.Cut {
		parts = append(parts, "cut")
	}
	return strings.Join(parts, ", ")
}

func send(w http.ResponseWriter, status int, body object) {
	data, _ := json.Marshal(body) // texts, numbers, and what was decoded from JSON
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // an agent that has gone misses nothing
}

// sendEvents writes an event stream, and ends it in the middle if cut is set.
func sendEvents(w http.ResponseWriter, events []event, cut bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	flush := http.NewResponseController(w)
	for i, e := range events {
		if cut && i == (len(events)+1)/2 {
			panic(http.ErrAbortHandler) // closes the connection
		}
		data, is := e.data.(string)
		if !is {
			encoded, _ := json.Marshal(e.data)
			data = string(encoded)
		}
		if e.name != "" {
			fmt.Fprintf(w, "event: %s\n", e.name)
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
		_ = flush.Flush()
	}
	if cut {
		panic(http.ErrAbortHandler)
	}
}
