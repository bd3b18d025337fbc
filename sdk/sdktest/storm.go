package sdktest

import (
	"fmt"
	"net/http"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// storm is a fault and what an implementation makes of it.
type storm struct {
	name  string
	doc   string
	make  func() Effect
	codes []sdk.Code // that an error may have
	fine  bool       // success is right as well: the answer can be understood
	must  bool       // nothing but success is right
	never bool       // no call succeeds, not even one that needs no answer's body
	final bool       // Create does not go on: it is an error at once
	slow  bool       // the call is given up after a moment
	after [2]float64 // of the error's seconds, from to; {0, 0} = not looked at
}

// long reports whether meeting it takes long.
func (s storm) long() bool { return s.slow || s.name == "huge" }

// slowTime is when calls that meet a slow backend are given up.
const slowTime = 300 * time.Millisecond

// What each fault means in the words of the contract: this table is the documentation
// of the hostile checks.
func storms() []storm {
	const (
		junkBody = "an answer that cannot be understood is an error, never an empty list or a machine that has stopped"
		away     = "a redirect to elsewhere is not followed, and is an error"
		give     = "a call returns when its context ends"
	)
	junk := []sdk.Code{sdk.Internal, sdk.Unavailable}
	refused := []sdk.Code{sdk.Unauthorized, sdk.Invalid, sdk.Unavailable, sdk.Internal, sdk.Unsupported}
	unavailable, unauthorized := []sdk.Code{sdk.Unavailable}, []sdk.Code{sdk.Unauthorized}
	limited := []sdk.Code{sdk.RateLimited}
	of := func(status int, header ...string) func() Effect {
		return func() Effect { return StatusCode(status, header...) }
	}
	says := func(body string) func() Effect { return func() Effect { return Answering(http.StatusOK, body) } }
	to := func(location string) func() Effect { return func() Effect { return RedirectTo(location) } }
	return []storm{
		{name: "status-401", doc: "401 is unauthorized", make: of(401), codes: unauthorized, never: true, final: true},
		{name: "status-403", doc: "403 is unauthorized", make: of(403), codes: unauthorized, never: true, final: true},
		{name: "status-404", doc: "404 is not_found, and for a handle the end", make: of(404), fine: true,
			codes: []sdk.Code{sdk.NotFound, sdk.Invalid, sdk.Unsupported, sdk.NoCapacity, sdk.Internal}},
		{name: "status-409", doc: "409 is about the request, not about the credential or the connection", make: of(409),
			codes: []sdk.Code{sdk.Invalid, sdk.Unavailable, sdk.NoCapacity, sdk.NotFound, sdk.Unsupported, sdk.Internal}},
		{name: "status-429", doc: "429 is rate_limited", make: of(429), codes: limited, never: true, final: true},
		{name: "retry-after-seconds", doc: "429 is rate_limited, with Retry-After as after_seconds", make: of(429, "Retry-After", "7"),
			codes: limited, never: true, final: true, after: [2]float64{7, 7.1}},
		{name: "retry-after-date", doc: "Retry-After may be a date", codes: limited, never: true, final: true, after: [2]float64{30, 120.1},
			make: func() Effect {
				return StatusCode(429, "Retry-After", time.Now().Add(2*time.Minute).UTC().Format(http.TimeFormat))
			}},
		{name: "status-500", doc: "500 is unavailable: Seer calls again", make: of(500), codes: unavailable, never: true},
		{name: "status-502", doc: "502 is unavailable: Seer calls again", make: of(502), codes: unavailable, never: true},
		{name: "status-503", doc: "503 is unavailable: Seer calls again", make: of(503, "Retry-After", "3"), codes: unavailable, never: true},
		{name: "status-504", doc: "504 is unavailable: Seer calls again", make: of(504), codes: unavailable, never: true},
		{name: "redirect-away", doc: away, make: to("https://elsewhere.example" + strayPath), codes: refused, never: true},
		{name: "redirect-http", doc: away, make: to("http://downgrade.example" + strayPath), codes: refused, never: true},
		{name: "redirect-private", doc: away, make: to("http://169.254.169.254" + strayPath), codes: refused, never: true},
		{name: "redirect-endless", doc: "redirects come to an end", make: to(""), codes: refused, never: true},
		{name: "refused", doc: "no connection is unavailable", make: Refused, codes: unavailable, never: true},
		{name: "answer-lost", doc: "a lost connection is unavailable", make: AnswerLost, codes: unavailable, never: true},
		{name: "bad-certificate", doc: "a backend that is not who it says is an error", make: BadCertificate, codes: refused, never: true},
		{name: "truncated", doc: junkBody, make: Truncated, codes: junk},
		{name: "wrong-length", doc: junkBody, make: WrongLength, codes: junk, fine: true},
		{name: "empty", doc: junkBody, make: says(""), codes: junk},
		{name: "html", doc: junkBody, make: of(200), codes: junk},
		{name: "malformed", doc: junkBody, make: says(`{"id": "x", "machines": [{"id": `), codes: junk},
		{name: "wrong-type", doc: junkBody, make: says(`"it is a text"`), codes: junk},
		{name: "null-fields", doc: "fields that are null do no harm", make: func() Effect { return RewriteJSON(nulls) }, fine: true,
			codes: []sdk.Code{sdk.Internal, sdk.Unavailable, sdk.Invalid, sdk.NotFound, sdk.NoCapacity, sdk.Unsupported}},
		{name: "unknown-fields", doc: "fields that are unknown are ignored: backends add some every week", make: func() Effect { return RewriteJSON(strangers) }, must: true},
		{name: "wide-headers", doc: "headers of 1 MB do no harm", make: func() Effect { return WideHeaders(1 << 20) }, fine: true,
			codes: []sdk.Code{sdk.Internal, sdk.Unavailable, sdk.Invalid}},
		{name: "huge", doc: "an answer of 100 MB is an error and fills no memory", make: func() Effect { return Huge(100 << 20) },
			codes: []sdk.Code{sdk.Internal, sdk.Unavailable, sdk.Invalid}},
		{name: "echo", doc: "400 is an error to give up for; what it says is made one line", make: Echo, never: true,
			codes: []sdk.Code{sdk.Invalid, sdk.Unsupported, sdk.NoCapacity, sdk.NotFound, sdk.Internal}},
		{name: "unanswered", doc: give, make: Unanswered, codes: unavailable, slow: true, never: true},
		{name: "trickle", doc: give, make: func() Effect { return Trickle(5 * time.Millisecond) }, codes: junk, slow: true},
	}
}

// nulls makes every scalar of an answer null.
func nulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			v[k] = nulls(inner)
		}
		return v
	case []any:
		for i := range v {
			v[i] = nulls(v[i])
		}
		return v
	}
	return nil
}

// strangers adds fields that nobody knows to the objects of an answer that are records:
// what has values of one type only may be a map, whose every key means something.
func strangers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		record := isRecord(v)
		for k, inner := range v {
			v[k] = strangers(inner)
		}
		if record {
			v["seer_unknown"] = map[string]any{"new": []any{1, "2", nil}}
			v["zz_unknown"] = nil
		}
	case []any:
		for i := range v {
			v[i] = strangers(v[i])
		}
	}
	return v
}

func isRecord(object map[string]any) bool {
	kinds := map[string]bool{}
	for _, inner := range object {
		kinds[fmt.Sprintf("%T", inner)] = true
	}
	return len(kinds) > 1 || kinds["[]interface {}"]
}
