// Package kubewire is what the engine and seer-kube say to each other.
package kubewire

import (
	"encoding/json"
	"errors"

	"github.com/seer-engine/seer/sdk"
)

// The headers between the engine and `seer-kube proxy`.
const (
	// ContextHeader names the context of a request, escaped as a segment of a path; empty = the
	// current one.
	ContextHeader = "Seer-Kube-Context"

	// ErrorHeader is on answers that are not of the cluster. Their body is [Failure].
	ErrorHeader = "Seer-Kube-Error"
)

// ContextPath resolves the context that the header names: the answer is an [sdk.KubeContext].
const ContextPath = "/seer/context"

// OwnError is the exit code of `seer-kube exec` when the command did not run to its end. The last
// line of its standard error is then the mark that it was given, a space and [Failure].
const OwnError = 125

// InCluster is the name of the cluster that a program runs in, where there is no kubeconfig.
const InCluster = "in-cluster"

// Failure writes an error of seer-kube on one line.
func Failure(err error) []byte {
	var e *sdk.Error
	if !errors.As(err, &e) {
		e = sdk.Errorf(sdk.Unavailable, "%v", err)
	}
	data, _ := json.Marshal(e) // of texts and a number
	return data
}

// ParseFailure reads what [Failure] has written.
func ParseFailure(data []byte) error {
	e := &sdk.Error{}
	if err := json.Unmarshal(data, e); err != nil || e.Code == "" || e.Message == "" {
		return sdk.Errorf(sdk.Internal, "what seer-kube says is not an error that this program knows: %.200q", data)
	}
	return e
}
