package guestapi

import (
	"encoding/json"
	"errors"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// doubt is the error of a request that may have had its effect nevertheless.
type doubt struct{ because *sdk.Error }

func (d doubt) Error() string { return d.because.Message }
func (d doubt) Unwrap() error { return d.because }

func unsure(e *sdk.Error) error { return doubt{e} }

// lost is the error of a request whose answer had begun: it was sent.
func lost(err error) error {
	var own *sdk.Error
	if !InDoubt(err) && errors.As(err, &own) {
		return unsure(own)
	}
	return err
}

// InDoubt reports whether a request that failed may have had its effect: its answer
// was lost, or is not to be understood. A backend that knows no idempotency key must
// then be asked before the request is made again.
func InDoubt(err error) bool {
	var d doubt
	return errors.As(err, &d)
}

// Problem says what an answer means that is not a success, as [Client.Do] does.
func (c *Client) Problem(r Request, a Answer) error {
	status := a.Status
	said, own := parseProblem(a.Body)
	fail := func(code sdk.Code, words string) *sdk.Error {
		e := c.errorf(code, r, "%s", words)
		if said != "" {
			e.Message += ": " + said
		}
		return e
	}
	code, known := c.Codes[own]
	if !known {
		code, known = c.Codes[strconv.Itoa(status)]
	}
	e := fail(usual(status, known, code))
	switch e.Code {
	case sdk.Unauthorized:
		if c.KeyHint != "" {
			e.Message += "; " + c.KeyHint
		}
	case sdk.RateLimited, sdk.Unavailable:
		e.Seconds = RetryAfter(a.Header, time.Now())
	}
	if status/100 == 3 {
		e.Message += elsewhere(a)
	}
	if status >= 500 || status == 408 {
		return unsure(e)
	}
	return e
}

// usual is the meaning of a status and the words for it, which follow the backend's
// name. One that the author knows better keeps only the words.
func usual(status int, known bool, code sdk.Code) (sdk.Code, string) {
	if known {
		return code, "says no (HTTP " + strconv.Itoa(status) + ")"
	}
	switch {
	case status/100 == 3:
		return sdk.Invalid, "sends elsewhere, which is not followed"
	case status == 401:
		return sdk.Unauthorized, "refuses the credential"
	case status == 402:
		return sdk.Unauthorized, "wants to be paid first"
	case status == 403:
		return sdk.Unauthorized, "refuses access"
	case status == 404 || status == 410:
		return sdk.NotFound, "does not know it"
	case status == 429:
		return sdk.RateLimited, "asks to slow down"
	case status == 405 || status == 501:
		return sdk.Unsupported, "cannot do it"
	case status == 408 || status == 425 || status >= 500:
		return sdk.Unavailable, "is not available now (HTTP " + strconv.Itoa(status) + ")"
	}
	return sdk.Invalid, "says no (HTTP " + strconv.Itoa(status) + ")"
}

// elsewhere is where a redirect leads, without what else may be in the address.
func elsewhere(a Answer) string {
	u, err := url.Parse(a.Get("Location"))
	if err != nil || u.Host == "" {
		return ""
	}
	return " (" + line(u.Scheme+"://"+u.Host) + ")"
}

const maxWait = 24 * 60 * 60 // seconds: who asks for more is not meant literally

// RetryAfter reads the header Retry-After, which is a number of seconds or a date: the
// seconds to wait. 0 = it is not there, or the time has come.
func RetryAfter(header Header, now time.Time) float64 {
	text := strings.TrimSpace(get(header, "Retry-After"))
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		at, err := parseTime(text)
		if err != nil {
			return 0
		}
		seconds = math.Ceil(at.Sub(now).Seconds())
	}
	if !(seconds > 0) { // also of NaN
		return 0
	}
	return min(seconds, maxWait)
}

// parseTime reads a date in one of the three forms that HTTP allows.
func parseTime(text string) (at time.Time, err error) {
	for _, form := range []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC} {
		if at, err = time.Parse(form, text); err == nil {
			return at, nil
		}
	}
	return at, err
}

// parseProblem finds what an error says, as one short line, and its code. Backends
// mostly answer {"error": "…"}, {"error": {"code", "message"}}, {"message"}, {"detail"}
// (also application/problem+json), or a list of such. A page is left out.
func parseProblem(body []byte) (said, code string) {
	var v any
	if json.Unmarshal(body, &v) != nil {
		text := strings.TrimSpace(string(body))
		if strings.HasPrefix(text, "<") || strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
			return "", ""
		}
		return line(text), ""
	}
	said, code = spoken(v, 4)
	return line(said), code
}

func spoken(v any, depth int) (said, code string) {
	switch v := v.(type) {
	case string:
		return v, ""
	case []any:
		if len(v) > 0 && depth > 0 {
			return spoken(v[0], depth-1)
		}
	case map[string]any:
		code = first(v, "code", "type")
		if _, spoken := v["message"].(string); spoken && code == "" {
			code = first(v, "error") // {"error": "sold_out", "message": "…"}
		}
		for _, key := range []string{"message", "detail", "error", "errors", "error_description", "reason", "title"} {
			inner, ok := v[key]
			if !ok || depth == 0 {
				continue
			}
			text, its := spoken(inner, depth-1)
			if code == "" {
				code = its
			}
			if text != "" {
				return text, code
			}
		}
	}
	return "", code
}

// first is the first of the keys with a text.
func first(v map[string]any, keys ...string) string {
	for _, key := range keys {
		if text, ok := v[key].(string); ok && text != "" {
			return text
		}
	}
	return ""
}

const maxLine = 300 // runes

// line makes one short line of what a server says.
func line(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxLine {
		text = string(runes[:maxLine]) + "…"
	}
	return strings.TrimSuffix(text, ".")
}
