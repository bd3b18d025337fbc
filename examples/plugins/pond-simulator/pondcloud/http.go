package pondcloud

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ServeHTTP implements [http.Handler].
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer || key == "" || key != c.o.Key && c.o.Key != "*" {
		refuse(w, http.StatusUnauthorized, "bad_key", "the key is missing or wrong")
		return
	}
	if wait := c.limit(); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(wait))
		refuse(w, http.StatusTooManyRequests, "slow_down", fmt.Sprintf("more than %d requests a minute", c.o.Requests))
		return
	}
	c.faulty(w, r, c.serve)
}

func (c *Cloud) serve(w http.ResponseWriter, r *http.Request) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/prices", c.prices)
	mux.HandleFunc("GET /v1/machines", func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		reply(w, http.StatusOK, map[string]any{"machines": c.list(r.URL.Query().Get("owner"))})
	})
	mux.HandleFunc("POST /v1/machines", c.rent)
	mux.HandleFunc("GET /v1/machines/{id}", c.one)
	mux.HandleFunc("DELETE /v1/machines/{id}", c.one)
	mux.HandleFunc("GET /v1/bill", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, c.Bill()) })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "not_found", "there is no "+r.Method+" "+r.URL.Path)
	})
	mux.ServeHTTP(w, r)
}

// limit counts a request: the seconds to wait, if it is one too many.
func (c *Cloud) limit() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.window) >= time.Minute {
		c.window, c.requests = time.Now(), 0
	}
	if c.requests++; c.requests <= c.o.Requests {
		return 0
	}
	return int(time.Until(c.window.Add(time.Minute)).Seconds()) + 1
}

func (c *Cloud) prices(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.o.Prices)
	for i := range all {
		all[i].Free = c.free(all[i])
	}
	reply(w, http.StatusOK, map[string]any{"prices": all})
}

// free is how many more of a size could be rented.
func (c *Cloud) free(p Price) int {
	n := p.Free
	for _, m := range c.machines {
		if m.Size == p.Size && m.over.IsZero() {
			n--
		}
	}
	return max(n, 0)
}

// rent is the body of a request for a machine.
type rent struct {
	Size    string            `json:"size"`
	Owner   string            `json:"owner"`
	Name    string            `json:"name"`
	Command []string          `json:"command"`
	Env     map[string]string `json:"env"`
	Port    int               `json:"port"`
	EndUnix int64             `json:"end_unix"`
}

const maxBody = 1 << 20 // bytes

var keyForm = regexp.MustCompile(`^[A-Za-z0-9-]{1,100}$`)

func (c *Cloud) rent(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if err != nil {
		refuse(w, http.StatusBadRequest, "bad_request", "the body cannot be read")
		return
	}
	var r rent
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	key := req.Header.Get("Idempotency-Key")
	if err := d.Decode(&r); err != nil || len(r.Command) == 0 || r.Port <= 0 || r.Port > 65535 || !keyForm.MatchString(key) {
		refuse(w, http.StatusBadRequest, "bad_request", "the request needs size, command, port and the header Idempotency-Key, and nothing that API.md does not name")
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.o.Prices, func(p Price) bool { return p.Size == r.Size })
	hash := sha256.Sum256(body)
	request := hex.EncodeToString(hash[:])
	old := slices.IndexFunc(c.machines, func(m *machine) bool { return m.Key == key && m.shown() })
	switch {
	case c.closed:
		refuse(w, http.StatusServiceUnavailable, "trouble", errClosed.Error())
	case old >= 0 && c.machines[old].request != request:
		refuse(w, http.StatusConflict, "key_reused", "the idempotency key belongs to another request")
	case old >= 0:
		reply(w, http.StatusOK, c.machines[old].view())
	case at < 0:
		refuse(w, http.StatusBadRequest, "bad_request", fmt.Sprintf("there is no size %q", r.Size))
	case c.free(c.o.Prices[at]) == 0:
		refuse(w, http.StatusConflict, "sold_out", fmt.Sprintf("no %s is free in %s", r.Size, c.o.Prices[at].Region))
	default:
		c.rented++
		m := &machine{
			Machine: Machine{ID: fmt.Sprintf("m-%d", c.rented), Key: key, Owner: r.Owner, Size: r.Size, State: queued,
				Port: r.Port, Command: r.Command, Env: r.Env, Hourly: c.o.Prices[at].Hourly, EndUnix: r.EndUnix},
			request: request, began: time.Now(), room: time.Now().Add(c.o.Queue), end: make(chan struct{}),
		}
		c.machines = append(c.machines, m)
		c.workers.Add(1)
		go c.live(m, r)
		reply(w, http.StatusCreated, m.view())
	}
}

func (c *Cloud) one(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.find(r.PathValue("id"))
	switch {
	case m == nil:
		refuse(w, http.StatusNotFound, "not_found", fmt.Sprintf("there is no machine %q", r.PathValue("id")))
	case r.Method == http.MethodDelete:
		c.finish(m, ended, "ended by its owner")
		w.WriteHeader(http.StatusNoContent)
	default:
		reply(w, http.StatusOK, m.view())
	}
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	reply(w, status, map[string]any{"error": map[string]string{"code": code, "message": message}})
}
