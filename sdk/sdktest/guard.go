package sdktest

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/seer-engine/seer/sdk"
)

// graceTime is how long a call may go on after its context has ended. The contract
// has [sdk.CancelGraceSeconds]; the rest is for slow machines, and [guard.twice] for those
// that stand still.
const graceTime = (sdk.CancelGraceSeconds + 4) * time.Second

// defect is an error that is never right: a panic, or a call that does not return.
type defect struct{ text string }

func (d defect) Error() string { return d.text }

func isDefect(err error) bool {
	var d defect
	return errors.As(err, &d)
}

// hang is the defect of a call that does not return.
type hang struct{ defect }

func (h hang) Unwrap() error { return h.defect }

// guard makes the calls of one kit: it notices what panics or does not return, and
// keeps what was said, to be looked through at the end.
type guard struct {
	callTime time.Duration
	grace    time.Duration

	mu    sync.Mutex
	said  map[string]string // text → which call said it
	calls int
	hung  bool // twice
}

func newGuard(callTime time.Duration) *guard {
	if callTime <= 0 {
		callTime = 30 * time.Second
	}
	return &guard{callTime: callTime, grace: graceTime, said: map[string]string{}}
}

// call runs f, which is named for people.
func call[T any](ctx context.Context, g *guard, name string, f func(context.Context) (T, error)) (out T, err error) {
	ctx, cancel := context.WithTimeout(ctx, g.callTime)
	defer cancel()
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if v := recover(); v != nil {
				o.err = defect{fmt.Sprintf("%s panicked: %v", name, v)}
			}
			done <- o
		}()
		o.value, o.err = f(ctx)
	}()
	select {
	case o := <-done:
		out, err = o.value, o.err
	case <-ctx.Done():
		late := time.NewTimer(g.grace)
		defer late.Stop()
		select {
		case o := <-done:
			out, err = o.value, o.err
		case <-late.C:
			return out, hang{defect{fmt.Sprintf("%s hangs: its context ended %v ago and it has not returned; pass the context on to every request", name, g.grace)}}
		}
	}
	g.hear(name, out, err)
	return out, err
}

// twice makes a call that is given up once more where it hangs: the computer may have stood
// still. Who has hung twice is believed to hang.
func (g *guard) twice(f func() error) error {
	err := f()
	if errors.As(err, new(hang)) && !g.hung {
		err = f()
		g.hung = errors.As(err, new(hang))
	}
	return err
}

// maxHeard is how much of one answer is kept.
const maxHeard = 1 << 20

// hear keeps what a call said.
func (g *guard) hear(name string, out any, err error) {
	var texts []string
	if err != nil {
		texts = append(texts, err.Error())
	} else if data, e := json.Marshal(out); e == nil {
		texts = append(texts, string(data))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls++
	for _, text := range texts {
		text = text[:min(len(text), maxHeard)]
		if _, known := g.said[text]; !known && len(g.said) < 20000 {
			if err != nil {
				name += " (error)"
			}
			g.said[text] = name
		}
	}
}

// leaks finds secrets in all that was said, as they are or encoded.
func (g *guard) leaks(secrets []string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var found []string
	for text, name := range g.said {
		for _, s := range secrets {
			for form, shape := range shapes(s) {
				if strings.Contains(text, shape) {
					found = append(found, fmt.Sprintf("%s shows a credential (%s): %s", name, form, shorten(strings.ReplaceAll(text, shape, "[secret]"))))
				}
			}
		}
	}
	return found
}

// shapes are the forms in which a secret may be shown.
func shapes(secret string) map[string]string {
	if len(secret) < 4 {
		return nil // it would be found everywhere
	}
	raw := []byte(secret)
	out := map[string]string{"as it is": secret, "in hex": hex.EncodeToString(raw), "reversed": reversed(secret)}
	if q := url.QueryEscape(secret); q != secret {
		out["as in a URL"] = q
	}
	// Wherever a secret begins, the characters that depend on nothing else stand in base64.
	for skip := range 3 {
		text := base64.StdEncoding.EncodeToString(append(make([]byte, skip), raw...))
		first, last := (skip*8+5)/6, (skip+len(raw))*8/6
		if last-first >= 8 {
			out[fmt.Sprintf("in base64, at %d", skip)] = text[first:last]
			out[fmt.Sprintf("in base64 of URLs, at %d", skip)] = strings.NewReplacer("+", "-", "/", "_").Replace(text[first:last])
		}
	}
	return out
}

func reversed(s string) string {
	r := []rune(s)
	for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
		r[i], r[j] = r[j], r[i]
	}
	return string(r)
}

// maxMessage is the longest message of an error, in bytes.
const maxMessage = 2500

// untidy finds messages that are not one line for a person.
func (g *guard) untidy() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var found []string
	for text, name := range g.said {
		if !strings.HasSuffix(name, "(error)") {
			continue
		}
		switch {
		case strings.TrimSpace(text) == "":
			found = append(found, name+" has no message; say what failed and what to do")
		case len(text) > maxMessage:
			found = append(found, fmt.Sprintf("%s has a message of %d bytes; the first few hundred are enough: %s", name, len(text), shorten(text)))
		case strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }) >= 0:
			found = append(found, fmt.Sprintf("%s has a message with line breaks or other control characters, which end up on a terminal: %s", name, shorten(text)))
		}
	}
	return found
}

// shorten makes a text fit for a report.
func shorten(text string) string {
	quoted := fmt.Sprintf("%q", text)
	if len(quoted) > 300 {
		quoted = quoted[:300] + "…"
	}
	return quoted
}

// describe is an error with its code, for a report.
func describe(err error) string {
	if err == nil {
		return "success"
	}
	var e *sdk.Error
	if errors.As(err, &e) {
		return fmt.Sprintf("%s: %s", e.Code, shorten(err.Error()))
	}
	return fmt.Sprintf("an error without a code: %s", shorten(err.Error()))
}
