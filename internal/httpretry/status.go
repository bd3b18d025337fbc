package httpretry

import (
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"github.com/seer-engine/seer/sdk"
)

// Status is the error that an answer without content is.
func Status(resp *http.Response) error {
	e := sdk.Errorf(Code(resp.StatusCode), "%s answered %d %s", resp.Request.URL.Host, resp.StatusCode, http.StatusText(resp.StatusCode))
	if e.Seconds = RetryAfter(resp).Seconds(); e.Seconds > 0 {
		e.Message += fmt.Sprintf("; try again in %.0f s", e.Seconds)
	}
	return e
}

// Code is a status in the contract's words.
func Code(status int) sdk.Code {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return sdk.Unauthorized
	case status == http.StatusNotFound, status == http.StatusGone:
		return sdk.NotFound
	case status == http.StatusTooManyRequests:
		return sdk.RateLimited
	case status >= 500, status == http.StatusRequestTimeout:
		return sdk.Unavailable
	}
	return sdk.Invalid
}

// Printable is a stranger's text without what a terminal would obey, at most 300 characters.
func Printable(text string) string {
	shown := []rune(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text))
	if len(shown) > 300 {
		shown = append(shown[:299], '…')
	}
	return string(shown)
}
