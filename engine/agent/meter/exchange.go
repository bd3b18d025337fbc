package meter

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/event"
)

// exchange is a request and its answer.
type exchange struct {
	proxy    *Proxy
	api      string // "" = not counted
	format   string // interface that determines the format of the proxy's own errors
	begin    time.Time
	path     string
	question *question // nil = not counted, so not read

	status int // status of the answer; 0 = none yet
	answer *answer
	turn   bool  // the answer counts as a turn
	tools  bool  // the request offered tools, as far as the proxy knew when the answer began
	err    error // reason of an absent answer
}

// meter scans the body of a request while the transport reads it.
func (x *exchange) meter(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	plain := r.Header.Get("Content-Encoding") == "" || r.Header.Get("Content-Encoding") == "identity"
	edit := x.api == chat && plain
	pad := edit && r.ContentLength > 0
	x.path, x.question = r.URL.Path, newQuestion(r.Body, edit, pad)
	r.Body = x.question
	if pad {
		r.ContentLength += int64(len(wantUsage))
		r.Header.Del("Content-Length")
	}
	if x.proxy.config.Budget > 0 && plain {
		x.question.peekModel(maxPeek)
	}
	return r
}

// asked returns the model in the request, as far as the proxy has read it.
func (x *exchange) asked() string {
	if x.api == gemini {
		return modelOfPath(x.path)
	}
	model, _, _ := x.question.seen()
	return model
}

// isLate reports whether the request is for a turn after the agent's last one.
func (x *exchange) isLate() bool {
	if !isTurn(x.path) || !x.proxy.ledger.nearLastTurn() {
		return false
	}
	x.question.peekTools(maxRefused)
	return x.proxy.ledger.outOfTurns(x.question.offersTools())
}

// answered handles the head of the answer.
func (x *exchange) answered(res *http.Response) error {
	secrets := x.proxy.secrets
	for _, values := range res.Header {
		for i := range values {
			values[i] = redacted(values[i], secrets)
		}
	}
	x.status = res.StatusCode
	if x.status == http.StatusUnauthorized || x.status == http.StatusForbidden {
		// Some agents repeat these for minutes, as if a login could be renewed. The key stays the same.
		res.StatusCode, res.Status = http.StatusBadRequest, ""
	}
	x.answer = &answer{from: res.Body, redactor: redactor{secrets: secrets}}
	if x.api != "" {
		if x.status < 300 && isTurn(x.path) { // now, because the agent may go on before the proxy sees the end
			x.turn, x.tools = true, x.question.offersTools()
			x.proxy.ledger.turn(x.tools, 1)
		}
		x.answer.stated = newStated(x.api)
		scan := &events{scan: newScanner(x.answer.stated.found)}
		x.answer.observe = scan.write
		if strings.EqualFold(res.Header.Get("Content-Encoding"), "gzip") {
			x.answer.unzip(scan, secrets)
		}
	}
	res.Body = x.answer
	return nil
}

// failed answers the request if the upstream does not. The answer does not name the upstream.
func (x *exchange) failed(w http.ResponseWriter, r *http.Request, err error) {
	x.err = err
	if r.Context().Err() != nil {
		cancelled.send(w, x.format, "the request was cancelled")
		return
	}
	noAnswer.send(w, x.format, "the language model cannot be reached; the record of the run says why")
}

// finish counts and reports the request.
func (x *exchange) finish(ctx context.Context) {
	r := event.ModelRequest{API: x.api, Model: x.asked(), Status: x.status}
	var u usage
	switch _, asked, passed := x.question.seen(); {
	case x.answer == nil && ctx.Err() != nil && passed:
		u = usage{input: tokensOf(asked), estimated: true} // the model had started
	case x.answer != nil:
		x.answer.finish()
		s := x.answer.stated
		if s.model != "" {
			r.Model = s.model
		}
		if x.status < 300 && s.problem == "" || s.has[fInput] || s.final {
			u = s.usage(x.api, asked)
		}
		if x.turn && s.problem != "" {
			x.proxy.ledger.turn(x.tools, -1)
		}
	}
	r.Model = redacted(clipped(r.Model), x.proxy.hidden())
	r.Error = redacted(x.problem(ctx), x.proxy.hidden())
	r.Seconds = x.proxy.config.Now().Sub(x.begin).Seconds()
	x.proxy.ledger.add(r, u, x.asked())
}

// hidden returns the texts that no report may contain.
func (p *Proxy) hidden() []string { return append([]string{p.config.Token}, p.secrets...) }

// problem returns the reason why the answer is not complete or an error; "" = neither.
func (x *exchange) problem(ctx context.Context) string {
	switch {
	case x.answer == nil && ctx.Err() != nil:
		return "the agent ended the request before it was answered"
	case x.answer == nil:
		return fmt.Sprintf("the language model does not answer: %v", x.err)
	}
	said := clipped(x.answer.stated.problem)
	switch {
	case x.status >= 300 && said != "":
		return fmt.Sprintf("the language model answered with status %d: %s", x.status, said)
	case x.status >= 300:
		return fmt.Sprintf("the language model answered with status %d", x.status)
	case said != "":
		return "the language model ended its answer with an error: " + said
	case x.answer.complete():
		return ""
	case ctx.Err() != nil:
		return "the agent ended the request in the middle of the answer"
	case x.answer.err != nil:
		return fmt.Sprintf("the answer was cut: %v", x.answer.err)
	}
	return "the agent took only a part of the answer"
}

// answer is the body of an answer. It hides secrets and counts the usage while the agent reads it.
type answer struct {
	from     io.ReadCloser
	redactor redactor
	stated   *stated      // nil = not counted
	observe  func([]byte) // nil = not counted
	unzipped *unzipper    // nil = not compressed
	buffer   []byte
	pending  []byte
	err      error
}

// Read implements [io.Reader].
func (a *answer) Read(p []byte) (int, error) {
	if a.buffer == nil {
		a.buffer = make([]byte, bufferSize)
	}
	for len(a.pending) == 0 && a.err == nil {
		n, err := a.from.Read(a.buffer)
		a.pending = a.redactor.write(a.buffer[:n])
		if err != nil {
			a.pending, a.err = append(a.pending, a.redactor.end()...), err
		}
		if a.observe != nil {
			a.observe(a.pending)
		}
	}
	n := copy(p, a.pending)
	a.pending = a.pending[n:]
	if len(a.pending) > 0 || a.err == nil {
		return n, nil
	}
	return n, a.err
}

// Close implements [io.Closer].
func (a *answer) Close() error { return a.from.Close() }

// complete reports whether the whole answer has been read.
func (a *answer) complete() bool { return errors.Is(a.err, io.EOF) }

// finish waits until the usage of the whole read part is counted.
func (a *answer) finish() {
	if a.unzipped != nil {
		_ = a.unzipped.to.Close()
		<-a.unzipped.done
	}
}

// unzipper decompresses an answer for the count, while the agent gets it compressed. Some servers
// compress although the request forbids it.
type unzipper struct {
	to   *io.PipeWriter
	done chan struct{}
}

func (a *answer) unzip(scan *events, secrets []string) {
	from, to := io.Pipe()
	u := &unzipper{to: to, done: make(chan struct{})}
	a.unzipped = u
	a.observe = func(piece []byte) { _, _ = to.Write(piece) } // fails after the reader has given up
	go func() {
		defer close(u.done)
		defer from.Close()
		plain, err := gzip.NewReader(from)
		if err != nil {
			return
		}
		hidden := redactor{secrets: secrets}
		buffer := make([]byte, bufferSize)
		for {
			n, err := plain.Read(buffer)
			scan.write(hidden.write(buffer[:n]))
			if err != nil {
				return
			}
		}
	}()
}
