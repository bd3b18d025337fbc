package meter

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/internal/lazyregexp"
)

// Config is the configuration of a [Proxy].
type Config struct {
	// API is anthropic, responses, chat or gemini: the interface that the key belongs to. The
	// path of a request names its interface.
	API string
	// Upstream is the base URL, such as https://api.anthropic.com. The proxy appends the path of a
	// request. If both have a version, such as /v1, it appears once.
	Upstream string
	Key      string // key of the upstream; "" = the proxy sends none
	// Header is the header with the key. In "authorization", "Bearer " precedes the key. "" =
	// x-api-key for anthropic, x-goog-api-key for gemini, else authorization.
	Header  string
	Headers map[string]string // further headers for the upstream; they replace the agent's
	// Token is the agent's replacement for the key. The agent sends it in one of the headers for
	// keys, or as ?key=.
	Token  string
	Budget float64          // USD; 0 = no limit
	Prices *Prices          // nil = Seer's own
	Now    func() time.Time // nil = [time.Now]
	// MaxTurns is the number of turns after which the proxy refuses requests; 0 = no limit. A turn
	// is an answer to a request that offers tools to the model. Until a request offers tools, each
	// answer is a turn. The proxy completes the requests that are in progress at the limit.
	MaxTurns int
	// OutOfTurns is called once, when the proxy refuses the first request because of MaxTurns; nil =
	// not called.
	OutOfTurns func()
	// Report is called after each counted request, in the order of their ends, never concurrently.
	Report func(event.ModelRequest)
	// Transport connects to the upstream; nil = a transport of the proxy's own, which uses the HTTP
	// proxy of the environment.
	Transport http.RoundTripper
}

// Proxy forwards requests of an agent to its language model. It is an [http.Handler].
type Proxy struct {
	config  Config
	base    *url.URL
	secrets []string // only the upstream may see them
	token   [sha256.Size]byte
	slots   chan struct{}
	ledger  ledger

	outOfTurns func()          // the first call counts
	own        *http.Transport // nil = Config.Transport
}

const (
	// maxParallel limits the concurrent requests, and so their total cost when the budget is nearly
	// spent. Other requests wait.
	maxParallel = 64
	// maxPeek limits the bytes that the proxy reads before it forwards a request, to find the model.
	maxPeek = 256 << 10
	// maxRefused limits the bytes that the proxy reads of a refused request.
	maxRefused = 128 << 20
)

// keyHeaders are the headers in which agents send keys.
var keyHeaders = []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key"}

// secretHeader matches names of headers that have secrets.
var secretHeader = lazyregexp.New(`(?i)auth|key|token|secret|cookie`)

// New returns a proxy. The error has all mistakes of the configuration.
func New(c Config) (*Proxy, error) {
	base, errs := checkUpstream(c.Upstream)
	if fields[c.API] == nil {
		errs = append(errs, fmt.Errorf("API %q: unknown; known are %s, %s, %s, %s", c.API, anthropic, responses, chat, gemini))
	}
	if c.Header == "" {
		c.Header = map[string]string{anthropic: "X-Api-Key", gemini: "X-Goog-Api-Key"}[c.API]
	}
	if c.Header == "" {
		c.Header = "Authorization"
	}
	if c.Token == "" {
		errs = append(errs, errors.New("token: empty; anybody could use the key"))
	}
	if !(c.Budget >= 0) {
		errs = append(errs, fmt.Errorf("budget %v: not an amount in USD", c.Budget))
	}
	errs = append(errs, checkHeaders(c)...)
	if c.Prices == nil {
		var err error
		c.Prices, err = ReadPrices()
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("the proxy to the language model cannot start: %w", err)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	p := &Proxy{config: c, base: base, secrets: secretsOf(c), token: sha256.Sum256([]byte(c.Token)), slots: make(chan struct{}, maxParallel)}
	p.ledger = ledger{prices: c.Prices, report: c.Report, totals: Totals{Budget: c.Budget}, maxTurns: c.MaxTurns}
	p.outOfTurns = func() {}
	if c.OutOfTurns != nil {
		p.outOfTurns = sync.OnceFunc(c.OutOfTurns)
	}
	if c.Transport == nil {
		p.own = http.DefaultTransport.(*http.Transport).Clone()
		p.own.MaxIdleConnsPerHost = maxParallel
		p.config.Transport = p.own
	}
	return p, nil
}

func checkUpstream(text string) (*url.URL, []error) {
	base, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, []error{errors.New("upstream: not a URL; write one as https://api.anthropic.com")} // err contains the URL, and so perhaps a key
	case base.Scheme != "https" && base.Scheme != "http" || base.Host == "":
		return nil, []error{errors.New("upstream: neither https://HOST nor http://HOST")}
	case base.User != nil:
		return nil, []error{errors.New("upstream: it has a user or a password; send them as a header")}
	case base.Fragment != "":
		return nil, []error{errors.New("upstream: it has a fragment (#)")}
	}
	return base, nil
}

// checkHeaders finds headers that HTTP does not allow. No error contains a value.
func checkHeaders(c Config) (errs []error) {
	if c.Key != strings.TrimSpace(c.Key) || !httpguts.ValidHeaderFieldValue(c.Key) {
		errs = append(errs, errors.New("key: spaces around it, or characters that no header may have; is it a whole file?"))
	}
	if !httpguts.ValidHeaderFieldName(c.Header) {
		errs = append(errs, fmt.Errorf("header %q: not a name of a header", c.Header))
	}
	for name, value := range c.Headers {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			errs = append(errs, fmt.Errorf("header %q: its name or its value has characters that no header may have", name))
		}
	}
	return errs
}

func secretsOf(c Config) (found []string) {
	add := func(s string) {
		if s = strings.TrimPrefix(s, "Bearer "); len(s) >= shortestSecret {
			found = append(found, s)
		}
	}
	add(c.Key)
	for name, value := range c.Headers {
		if secretHeader().MatchString(name) {
			add(value)
		}
	}
	return found
}

// Total returns the usage of all requests that have ended.
func (p *Proxy) Total() Totals { return p.ledger.total() }

// ServeHTTP forwards a request to the upstream, or answers it with an error in the format of its
// interface.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	api, passed := route(r.Method, r.URL.Path)
	format := api
	if format == "" {
		format = p.config.API
	}
	switch {
	case !p.authorized(r):
		refuse(w, r, noToken, format, "the token of this run is missing or wrong")
		return
	case !passed:
		refuse(w, r, noPath, format, fmt.Sprintf("%s %q is not among the requests that this run passes to its language model", r.Method, clipped(r.URL.Path)))
		return
	}
	x := &exchange{proxy: p, api: api, format: format, begin: p.config.Now()}
	if api != "" {
		select {
		case p.slots <- struct{}{}:
			defer func() { <-p.slots }()
		case <-r.Context().Done():
			cancelled.send(w, format, "the request was cancelled")
			return
		}
		r = x.meter(r)
		if refused, why := p.ledger.admit(x.asked()); refused != nil {
			refuse(w, r, *refused, format, why)
			return
		}
		if x.isLate() {
			p.outOfTurns()
			refuse(w, r, noTurns, format, fmt.Sprintf("reached max_turns %d: no further request to the language model is passed; end your work", p.config.MaxTurns))
			return
		}
		defer x.finish(r.Context())
	}
	reverse := httputil.ReverseProxy{
		Rewrite: p.rewrite, Transport: p.config.Transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		ModifyResponse: x.answered, ErrorHandler: x.failed,
	}
	reverse.ServeHTTP(w, r)
}

// refuse answers a request that the proxy does not forward. It reads the body first, because many
// clients read no answer before they have sent the whole body.
func refuse(w http.ResponseWriter, r *http.Request, f failure, api, message string) {
	_, _ = io.CopyN(io.Discard, r.Body, maxRefused)
	f.send(w, api, message)
}

// authorized reports whether the agent has presented its token. It takes the same time for all
// wrong tokens.
func (p *Proxy) authorized(r *http.Request) bool {
	presented := []string{r.URL.Query().Get("key")}
	for _, name := range keyHeaders {
		value := r.Header.Get(name)
		if scheme, token, ok := strings.Cut(value, " "); ok && strings.EqualFold(scheme, "bearer") {
			value = token
		}
		presented = append(presented, value)
	}
	right := 0
	for _, token := range presented {
		sum := sha256.Sum256([]byte(token))
		right |= subtle.ConstantTimeCompare(sum[:], p.token[:])
	}
	return right == 1
}

// version matches the path segment that both a base URL and a path may have.
var version = lazyregexp.New(`^/v\d\w*$`)

// rewrite directs a request to the upstream, with the key in place of the token.
func (p *Proxy) rewrite(pr *httputil.ProxyRequest) {
	out := pr.Out
	base := strings.TrimSuffix(p.base.Path, "/")
	if last := base[strings.LastIndexByte(base, '/')+1:]; version().MatchString("/"+last) && strings.HasPrefix(out.URL.Path, "/"+last+"/") {
		out.URL.Path = strings.TrimPrefix(out.URL.Path, "/"+last)
	}
	out.URL.RawPath = "" // the upstream gets the path that was checked
	if query := out.URL.Query(); query.Has("key") {
		query.Del("key")
		out.URL.RawQuery = query.Encode()
	}
	pr.SetURL(p.base)
	for _, name := range keyHeaders {
		out.Header.Del(name)
	}
	// The proxy reads the usage from the answer, so the answer must not be compressed.
	out.Header.Set("Accept-Encoding", "identity")
	out.Header.Del("Upgrade")
	out.Header.Del("Connection")
	out.Header.Del("X-Http-Method-Override")
	if p.config.Key != "" {
		key := p.config.Key
		if strings.EqualFold(p.config.Header, "authorization") {
			key = "Bearer " + key
		}
		out.Header.Set(p.config.Header, key)
	}
	for name, value := range p.config.Headers {
		out.Header.Set(name, value)
	}
}
