package runpod

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/plugins/internal/oneline"
	"github.com/seer-engine/seer/sdk"
)

const (
	keyHint    = "make a key with read and write access at https://console.runpod.io/user/settings and set RUNPOD_API_KEY"
	creditHint = "add credit at https://console.runpod.io/user/billing, or use another provider"
	accessHint = "the API key needs read and write access, and the account access to this kind of machine; look at https://console.runpod.io/user/settings"
)

// doubt is the error of a request that may have had its effect nevertheless.
type doubt struct{ because *sdk.Error }

func (d doubt) Error() string { return d.because.Message }
func (d doubt) Unwrap() error { return d.because }

func unsure(e *sdk.Error) error { return doubt{e} }

// inDoubt reports whether a request that failed may have had its effect.
func inDoubt(err error) bool {
	var d doubt
	return errors.As(err, &d)
}

// problem is an error of RunPod's, application/problem+json.
type problem struct {
	Title  string
	Detail string
	Errors []string
}

// parseProblem reads the body of an answer that is an error. What is not a problem,
// such as a page of RunPod's edge, is left out.
func parseProblem(body []byte) problem {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return problem{}
	}
	var p problem
	for name, out := range map[string]any{"title": &p.Title, "detail": &p.Detail, "errors": &p.Errors} {
		_ = json.Unmarshal(fields[name], out) // missing, or of another type than described
	}
	for _, older := range []string{"error", "message"} {
		if p.Detail == "" {
			_ = json.Unmarshal(fields[older], &p.Detail) // as above
		}
	}
	return p
}

// text is one short line.
func (p problem) text(status int) string {
	text := p.Detail
	if text == "" {
		text = p.Title
	}
	if text == "" {
		text = strings.TrimSpace("HTTP " + strconv.Itoa(status) + " " + http.StatusText(status))
	}
	text = tidy(text)
	if len(p.Errors) > 0 {
		text += " (" + tidy(strings.Join(p.Errors, "; ")) + ")"
	}
	return text
}

// saysCapacity matches what RunPod says when nothing of the kind is free. There is
// neither a status nor a code for it.
var saysCapacity = regexp.MustCompile(`(?i)no longer any instances|no instances|not enough free gpus|does not have the resources to deploy`)

// ofStatus says in the words of the contract what an answer means that is not a
// success.
func ofStatus(doing string, status int, header http.Header, body []byte) error {
	p := parseProblem(body)
	text := p.text(status)
	switch {
	case status == http.StatusUnauthorized:
		return sdk.Errorf(sdk.Unauthorized, "%s: RunPod refuses the API key: %s; %s", doing, text, keyHint)
	case status == http.StatusPaymentRequired:
		return sdk.Errorf(sdk.Unauthorized, "%s: not enough credit at RunPod: %s; %s", doing, text, creditHint)
	case status == http.StatusForbidden:
		return sdk.Errorf(sdk.Unauthorized, "%s: RunPod refuses access: %s; %s", doing, text, accessHint)
	case status == http.StatusNotFound:
		return sdk.Errorf(sdk.NotFound, "%s: RunPod says: %s", doing, text)
	case status == http.StatusTooManyRequests:
		return &sdk.Error{Code: sdk.RateLimited, Message: doing + ": RunPod asks to slow down: " + text, Seconds: retryAfter(header)}
	case status >= 500 || status == http.StatusRequestTimeout:
		return unsure(&sdk.Error{Code: sdk.Unavailable, Message: doing + ": RunPod is not available now: " + text, Seconds: after(header)})
	case status >= 300 && status < 400:
		return sdk.Errorf(sdk.Invalid, "%s: RunPod's API sends elsewhere%s, which is not followed; correct RUNPOD_API_BASE_URL", doing, origin(header))
	case status == http.StatusMethodNotAllowed || status == http.StatusGone:
		return sdk.Errorf(sdk.Unsupported, "%s: this API of RunPod's cannot do it: %s; use a newer version of the plugin", doing, text)
	case status == http.StatusConflict:
		return sdk.Errorf(sdk.Invalid, "%s: RunPod refuses it as things stand: %s; look at https://console.runpod.io/pods (a pod of a cluster ends with its cluster)", doing, text)
	case saysCapacity.MatchString(p.Detail + " " + p.Title):
		return sdk.Errorf(sdk.NoCapacity, "%s: %s", doing, text)
	default:
		return sdk.Errorf(sdk.Invalid, "%s: RunPod says: %s", doing, text)
	}
}

// origin is where a redirect leads, without what else may be in the address.
func origin(header http.Header) string {
	u, err := url.Parse(header.Get("Location"))
	if err != nil || u.Host == "" {
		return ""
	}
	return " (" + u.Scheme + "://" + u.Host + ")"
}

const maxText = 600

// tidy makes one short line of what a server says.
func tidy(text string) string { return oneline.Tidy(text, maxText) }
