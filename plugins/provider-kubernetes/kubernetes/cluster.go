package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/plugins/internal/oneline"
	"github.com/seer-engine/seer/sdk"
)

// cluster is a namespace of a cluster.
type cluster struct {
	api                API
	context, namespace string
}

// call is one request.
type call struct {
	doing  string // begins the error: "making the pod seer-1"
	method string // empty = GET
	path   string
	query  map[string][]string
	body   any  // nil = none
	patch  bool // body is a merge patch
}

// refusal is an answer of the cluster that is an error.
type refusal struct {
	because *sdk.Error
	status  int
	reason  string // of the API: AlreadyExists
	unsaid  bool   // a quota counts what the machine does not ask for
}

func (r refusal) Error() string { return r.because.Message }
func (r refusal) Unwrap() error { return r.because }

const mergePatch = "application/merge-patch+json"

// do makes a request, and reads the answer into out, which may be nil. It returns the time of the
// cluster, zero if the answer does not tell.
func (c cluster) do(ctx context.Context, r call, out any) (time.Time, error) {
	request := sdk.KubeRequest{Method: r.method, Path: r.path, Query: r.query}
	if r.method == "" {
		request.Method = "GET"
	}
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return time.Time{}, err
		}
	}
	if r.patch {
		request.ContentType = mergePatch
	}
	answer, err := c.api.Do(ctx, c.context, request, body)
	if err != nil {
		return time.Time{}, err // it names the context
	}
	now := answer.time()
	if answer.Status < 200 || answer.Status > 299 {
		return now, c.refused(r.doing, answer)
	}
	if out == nil {
		return now, nil
	}
	if err := json.Unmarshal(answer.Body, out); err != nil {
		return now, sdk.Errorf(sdk.Unavailable, "%s: the answer of the cluster of the context %s is not what the API promises: %v", r.doing, c.context, err)
	}
	return now, nil
}

func (a Answer) header(name string) string {
	for key, values := range a.Headers {
		if strings.EqualFold(key, name) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

func (a Answer) time() time.Time {
	t, _ := time.Parse(time.RFC1123, a.header("Date")) // zero = not told
	return t
}

const (
	maxText = 400 // characters of what a cluster says

	defaultWait, longestWait = 2, 300 // seconds before the next try
)

// refused says what an answer means that is an error. The cases of 403 are in forbidden.
func (c cluster) refused(doing string, a Answer) error {
	var s status
	if json.Unmarshal(a.Body, &s) != nil || s.Message == "" {
		s.Message = "HTTP " + strconv.Itoa(a.Status)
	}
	text := oneline.Tidy(s.Message, maxText)
	fail := func(code sdk.Code, format string, args ...any) error {
		return refusal{sdk.Errorf(code, "%s", doing+": "+fmt.Sprintf(format, args...)), a.Status, s.Reason, strings.Contains(text, failedQuota)}
	}
	switch {
	case a.Status == 401:
		return fail(sdk.Unauthorized, "the cluster does not accept the credentials of the context %s: %s; log in again", c.context, text)
	case a.Status == 403:
		code, explained := c.forbidden(text)
		return fail(code, "%s", explained)
	case a.Status == 404 && strings.HasPrefix(text, "namespaces "):
		return fail(sdk.Invalid, "the context %s has no namespace %s; make it, or name another one in provider_options.kubernetes.namespace", c.context, c.namespace)
	case a.Status == 404:
		return fail(sdk.NotFound, "%s", text)
	case a.Status == 410 || a.Status == 409 && s.Reason != alreadyExists: // a list is too old to go on, or two have written at once
		return fail(sdk.Unavailable, "%s", text)
	case a.Status == 429 || a.Status >= 500 || a.Status == 408:
		e := sdk.Errorf(sdk.Unavailable, "%s: the cluster of the context %s is not available now: %s", doing, c.context, text)
		if a.Status == 429 {
			e.Code = sdk.RateLimited
		}
		e.Seconds = a.wait(s)
		return refusal{because: e, status: a.Status, reason: s.Reason}
	case a.Status >= 300 && a.Status < 400:
		return fail(sdk.Invalid, "the cluster of the context %s sends elsewhere, which is not followed", c.context)
	case admission(text):
		_, explained := c.forbidden(text)
		return fail(sdk.Invalid, "%s", explained)
	}
	return fail(sdk.Invalid, "%s", text)
}

// wait is how long to wait before the next try, in seconds: a number of seconds or a date, which
// is one of the cluster's clock.
func (a Answer) wait(s status) float64 {
	seconds, text := s.Details.RetryAfterSeconds, a.header("Retry-After")
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		seconds = n
	} else if at, err := time.Parse(time.RFC1123, text); err == nil {
		now := a.time()
		if now.IsZero() {
			now = time.Now()
		}
		seconds = at.Sub(now).Seconds()
	}
	if !(seconds > 0) { // nor NaN
		seconds = defaultWait
	}
	return min(seconds, longestWait)
}

const (
	alreadyExists = "AlreadyExists"
	failedQuota   = "failed quota: "
)

// admission reports whether a webhook speaks, which may choose the status itself.
func admission(text string) bool { return strings.HasPrefix(text, "admission webhook ") }

// forbidden explains an answer 403. The API has one status and one reason for all that is not
// allowed: rights, quotas, limits and policies are told apart by the words of its own code.
func (c cluster) forbidden(text string) (sdk.Code, string) {
	has := func(word string) bool { return strings.Contains(text, word) }
	_, why, spoken := strings.Cut(text, " is forbidden: ")
	if !spoken {
		why = text
	}
	switch {
	case has("exceeded quota: "):
		return sdk.NoCapacity, fmt.Sprintf("the quota of the namespace %s is used up: %s", c.namespace, after(why, "exceeded quota: "))
	case has(failedQuota):
		return sdk.Invalid, fmt.Sprintf("the quota of the namespace %s counts what the machine does not ask for: %s; set sandbox.cpu, sandbox.memory or sandbox.disk", c.namespace, after(why, failedQuota))
	case has("violates PodSecurity"):
		return sdk.Invalid, fmt.Sprintf("the namespace %s allows no such pods: %s; set provider_options.kubernetes.security: restricted", c.namespace, why)
	case admission(text):
		return sdk.Invalid, "a policy of the cluster refuses it: " + text
	case has(" usage per ") || has("limit to request ratio per "):
		return sdk.Invalid, fmt.Sprintf("the limits (LimitRange) of the namespace %s do not allow it: %s; change sandbox.cpu, sandbox.memory or sandbox.disk", c.namespace, why)
	case has("no PriorityClass with name"):
		return sdk.Invalid, why + "; change provider_options.kubernetes.priority_class"
	case has("RuntimeClass ") && has("not found"):
		return sdk.Invalid, why + "; change provider_options.kubernetes.runtime_class"
	case has("error looking up service account"):
		return sdk.Invalid, why + "; change provider_options.kubernetes.service_account"
	case has("is being terminated"):
		return sdk.Invalid, why
	case has(" cannot ") || !spoken: // or a proxy before the API has said it
		return sdk.Unauthorized, why + "; an administrator can apply kubernetes-rbac.yaml of Seer's documentation"
	}
	return sdk.Invalid, "the cluster refuses it: " + why
}

// after is what follows the words.
func after(text, words string) string {
	_, rest, _ := strings.Cut(text, words)
	return rest
}

// is reports whether the cluster has refused a request with this status.
func is(err error, status int) bool {
	var r refusal
	return errors.As(err, &r) && r.status == status
}

// exists reports whether what was to be made is there already.
func exists(err error) bool {
	var r refusal
	return errors.As(err, &r) && r.status == 409 && r.reason == alreadyExists
}

// The paths of the API.
func (c cluster) core(kind string, name ...string) string {
	return apiPath(append([]string{"api", "v1", "namespaces", c.namespace, kind}, name...)...)
}

func (c cluster) group(group, kind string, name ...string) string {
	return apiPath(append(append([]string{"apis"}, strings.Split(group, "/")...), append([]string{"namespaces", c.namespace, kind}, name...)...)...)
}

func (c cluster) policies(name ...string) string {
	return c.group(networking, "networkpolicies", name...)
}

func apiPath(parts ...string) string {
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return "/" + strings.Join(parts, "/")
}

const (
	networking = "networking.k8s.io/v1"
	kueue      = "kueue.x-k8s.io/v1beta1"
)

const (
	pageSize = "250"
	maxPages = 80 // more than clusters have
)

// all reads a list to its end, and returns the time of the cluster.
func all[T any](ctx context.Context, c cluster, r call) (items []T, now time.Time, err error) {
	query := map[string][]string{"limit": {pageSize}}
	for name, values := range r.query {
		query[name] = values
	}
	r.query = query
	begun := false // anew
	for range maxPages {
		if err := ctx.Err(); err != nil {
			return nil, now, err
		}
		var page list[T]
		now, err = c.do(ctx, r, &page)
		if is(err, 410) && query["continue"] != nil && !begun { // the API remembers for minutes only how far a list was read
			items, begun = nil, true
			delete(query, "continue")
			continue
		}
		if err != nil {
			return nil, now, err
		}
		items = append(items, page.Items...)
		if page.Metadata.Continue == "" {
			return items, now, nil
		}
		query["continue"] = []string{page.Metadata.Continue}
	}
	return nil, now, sdk.Errorf(sdk.Unavailable, "%s: the list of the cluster of the context %s has no end", r.doing, c.context)
}

// selector selects by labels.
func selector(labels ...string) map[string][]string {
	return map[string][]string{"labelSelector": {strings.Join(labels, ",")}}
}
