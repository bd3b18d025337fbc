package sdktest

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// strayPath is where hostile redirects lead; only who follows them asks for it.
const strayPath = "/.seer-stray/"

// answer makes an answer to a request.
func answer(req *http.Request, status int, kind, body string) *http.Response {
	resp := &http.Response{
		StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}
	if kind != "" {
		resp.Header.Set("Content-Type", kind)
	}
	return resp
}

// Answering is the effect of a backend that says body, with the status.
func Answering(status int, body string, header ...string) Effect {
	return func(req *http.Request, _ http.RoundTripper) (*http.Response, error) {
		drain(req)
		resp := answer(req, status, "application/json", body)
		for i := 0; i+1 < len(header); i += 2 {
			resp.Header.Set(header[i], header[i+1])
		}
		return resp, nil
	}
}

// StatusCode is the effect of a backend that answers with a status, and with words that
// are no JSON.
func StatusCode(status int, header ...string) Effect {
	return func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		text := fmt.Sprintf("<html>\n<title>%d</title>\r\n<p>%s</p>\n</html>\n", status, http.StatusText(status))
		resp, err := Answering(status, text, header...)(req, next)
		resp.Header.Set("Content-Type", "text/html")
		return resp, err
	}
}

// RedirectTo is the effect of a backend that sends elsewhere. A location of "" is the
// request's own: it never ends.
func RedirectTo(location string) Effect {
	return func(req *http.Request, _ http.RoundTripper) (*http.Response, error) {
		drain(req)
		resp := answer(req, http.StatusTemporaryRedirect, "", "")
		to := location
		if to == "" {
			to = req.URL.String()
		}
		resp.Header.Set("Location", to)
		return resp, nil
	}
}

// Truncated is the effect of a connection that is lost in the middle of an answer.
func Truncated() Effect {
	return func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		return withBody(req, next, func(body []byte) (io.Reader, int64) {
			return io.MultiReader(bytes.NewReader(body[:len(body)/2]), broken{io.ErrUnexpectedEOF}), int64(len(body))
		})
	}
}

// WrongLength is the effect of an answer that ends before the length that it has announced.
func WrongLength() Effect {
	return func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		return withBody(req, next, func(body []byte) (io.Reader, int64) {
			return io.MultiReader(bytes.NewReader(body), broken{io.ErrUnexpectedEOF}), int64(len(body)) + 1000
		})
	}
}

// Huge is the effect of an answer of so many bytes.
func Huge(size int64) Effect {
	return func(req *http.Request, _ http.RoundTripper) (*http.Response, error) {
		drain(req)
		resp := answer(req, http.StatusOK, "application/json", "")
		resp.Body, resp.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader(`["`), io.LimitReader(pattern{}, size))), -1
		return resp, nil
	}
}

// Trickle is the effect of an answer whose bytes come one by one, and never end.
func Trickle(every time.Duration) Effect {
	return func(req *http.Request, _ http.RoundTripper) (*http.Response, error) {
		drain(req)
		resp := answer(req, http.StatusOK, "application/json", "")
		resp.Body, resp.ContentLength = io.NopCloser(&drip{req.Context(), every}), -1
		return resp, nil
	}
}

// Unanswered is the effect of a backend that says nothing.
func Unanswered() Effect {
	return func(req *http.Request, _ http.RoundTripper) (*http.Response, error) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
}

// Refused is the effect of a connection that is lost before the backend has seen the request.
func Refused() Effect {
	return func(req *http.Request, _ http.RoundTripper) (*http.Response, error) {
		drain(req)
		return nil, errDropped
	}
}

// AnswerLost is the effect of a connection that is lost after the backend has done its work.
func AnswerLost() Effect {
	return func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		_, _ = io.Copy(io.Discard, resp.Body) // the backend has come to its end
		_ = resp.Body.Close()
		return nil, errDropped
	}
}

// BadCertificate is the effect of a backend that is not who it says.
func BadCertificate() Effect {
	return func(req *http.Request, _ http.RoundTripper) (*http.Response, error) {
		drain(req)
		return nil, fmt.Errorf("tls: failed to verify certificate: %w", x509.UnknownAuthorityError{})
	}
}

// WideHeaders is the effect of an answer with so many bytes of headers.
func WideHeaders(size int) Effect {
	return func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err == nil {
			resp.Header.Set("X-Wide", strings.Repeat("w", size))
		}
		return resp, err
	}
}

// Echo is the effect of a backend that refuses, and shows all that it was sent.
func Echo() Effect {
	return func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		var head bytes.Buffer
		_ = req.Header.Write(&head) // to memory
		text := "bad request: " + req.URL.String() + "\n" + head.String() + "\x1b[31m\nwarning: do as I say"
		body, err := json.Marshal(map[string]any{"error": text, "message": text, "detail": text, "title": text, "errors": []string{text}})
		if err != nil {
			return nil, err
		}
		return Answering(http.StatusBadRequest, string(body))(req, next)
	}
}

// RewriteJSON is the effect of a backend whose answers are changed.
func RewriteJSON(change func(any) any) Effect {
	return func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		return withBody(req, next, func(body []byte) (io.Reader, int64) {
			var value any
			d := json.NewDecoder(bytes.NewReader(body))
			d.UseNumber()
			if d.Decode(&value) == nil {
				if changed, err := json.Marshal(change(value)); err == nil {
					body = changed
				}
			}
			return bytes.NewReader(body), int64(len(body))
		})
	}
}

// withBody lets the backend answer and changes the body.
func withBody(req *http.Request, next http.RoundTripper, change func([]byte) (io.Reader, int64)) (*http.Response, error) {
	resp, err := next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	reader, length := change(body)
	resp.Body, resp.ContentLength = io.NopCloser(reader), length
	resp.Header.Set("Content-Length", strconv.FormatInt(length, 10))
	return resp, nil
}

// drain reads a request's body, as a backend does that refuses it afterwards.
func drain(req *http.Request) {
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
		_ = req.Body.Close()
	}
}

// broken is a reader that fails.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// pattern is text without an end.
type pattern struct{}

func (pattern) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// drip gives a space at a time.
type drip struct {
	ctx   context.Context
	every time.Duration
}

func (d *drip) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := sleep(d.ctx, d.every); err != nil {
		return 0, err
	}
	p[0] = ' '
	return 1, nil
}
