package pondcloud

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
)

// Fault hits every n-th request, counted from the n-th.
type Fault struct {
	Kind  string // one of [FaultKinds]
	Every int
}

// FaultKinds are what can go wrong.
func FaultKinds() []string {
	return []string{
		"trouble",   // 503, nothing has happened
		"slow_down", // 429 with Retry-After: 1
		"lost",      // it has happened, but the connection ends without an answer
		"cut",       // the answer breaks off in the middle
		"garbled",   // the answer is a page
	}
}

// ParseFaults reads faults as lost:3,trouble:5.
func ParseFaults(text string) ([]Fault, error) {
	var all []Fault
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		kind, every, _ := strings.Cut(word, ":")
		n, err := strconv.Atoi(every)
		f := Fault{Kind: kind, Every: n}
		if err = errors.Join(err, f.check()); err != nil {
			return nil, fmt.Errorf("%q is not a fault like lost:3, every third answer; the kinds are %s", word, strings.Join(FaultKinds(), ", "))
		}
		all = append(all, f)
	}
	return all, nil
}

func (f Fault) check() error {
	for _, kind := range FaultKinds() {
		if f.Kind == kind && f.Every > 0 {
			return nil
		}
	}
	return fmt.Errorf("there is no fault %q every %d requests", f.Kind, f.Every)
}

// fault is the one that hits this request; empty = none.
func (c *Cloud) fault() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	hit := ""
	for i, f := range c.o.Faults {
		if c.asked[i]++; c.asked[i]%f.Every == 0 && hit == "" {
			hit = f.Kind
		}
	}
	return hit
}

func (c *Cloud) faulty(w http.ResponseWriter, r *http.Request, serve http.HandlerFunc) {
	switch c.fault() {
	case "":
		serve(w, r)
	case "trouble":
		refuse(w, http.StatusServiceUnavailable, "trouble", "something is broken; ask again")
	case "slow_down":
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests, "slow_down", "too many requests")
	case "lost":
		serve(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case "cut":
		whole := httptest.NewRecorder()
		serve(whole, r)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(whole.Body.Len()+1))
		w.WriteHeader(whole.Code)
		_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
		panic(http.ErrAbortHandler)
	case "garbled":
		serve(httptest.NewRecorder(), r)
		_, _ = w.Write([]byte("<html><title>Pond</title>"))
	}
}
