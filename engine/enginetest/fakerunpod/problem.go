package fakerunpod

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// problem is an error in RunPod's form, application/problem+json.
type problem struct {
	Title  string   `json:"title"`
	Status int      `json:"status"`
	Detail string   `json:"detail"`
	Errors []string `json:"errors,omitempty"`
}

// The texts that RunPod uses.
const (
	noCapacity    = "There are no longer any instances available with the requested specifications. Please refresh and try again."
	noFreeGPU     = "There are not enough free GPUs on the host machine to start this pod."
	noCredit      = "Insufficient balance to create this pod. Please add funds and try again."
	somethingFell = "Something went wrong. Please try again later or contact support."
)

func (p *problem) Error() string { return p.Detail }

func problemf(status int, format string, args ...any) *problem {
	return &problem{Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(format, args...)}
}

func notFound(what string) error { return problemf(http.StatusNotFound, "%s not found", what) }

func writeProblem(w http.ResponseWriter, err error) {
	var p *problem
	if !errors.As(err, &p) {
		p = problemf(http.StatusInternalServerError, "%s", somethingFell)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client has gone
}
