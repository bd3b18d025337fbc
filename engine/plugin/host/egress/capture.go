package egress

import (
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/sdk"
)

const (
	longestKept  = 24 * time.Hour
	maxCaptured  = 128 // of one plugin; the oldest go first
	expiryMargin = time.Minute
)

// credential is one that a backend gave in an answer.
type credential struct {
	name, real, placeholder string
	expires                 time.Time

	origin origin // for which it is good; zero = where its binding says
	users  bool   // that origin may be private
	plain  bool   // that origin is spoken to without TLS
}

// vault keeps captured credentials for as long as they are good, in memory only.
type vault struct {
	scrub *scrubber

	mu     sync.Mutex
	kept   []*credential // oldest first
	timer  *time.Timer
	closed bool
}

func newVault(s *scrubber) *vault { return &vault{scrub: s} }

// keep stores a credential and gives its placeholder. The same one again has the same
// placeholder.
func (v *vault) keep(c credential, jwt bool) string {
	now := time.Now()
	c.expires = now.Add(longestKept)
	life := lifeOf(c.real)
	if jwt && life.Exp != nil {
		if end := time.Unix(int64(*life.Exp), 0).Add(expiryMargin); end.Before(c.expires) {
			c.expires = end
		}
	}
	v.scrub.know(c.name, c.real)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sweep(now)
	for _, have := range v.kept {
		if have.name == c.name && have.real == c.real && have.origin == c.origin {
			return have.placeholder
		}
	}
	c.placeholder = placeholder(c.name, life, jwt)
	if v.closed {
		return c.placeholder
	}
	v.kept = append(v.kept, &c)
	if len(v.kept) > maxCaptured {
		v.drop(0)
	}
	if v.timer == nil {
		v.timer = time.AfterFunc(time.Until(c.expires), v.expire)
	}
	return c.placeholder
}

func (v *vault) expire() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.timer = nil
	v.sweep(time.Now())
	if len(v.kept) == 0 || v.closed {
		return
	}
	next := v.kept[0].expires
	for _, c := range v.kept {
		if c.expires.Before(next) {
			next = c.expires
		}
	}
	v.timer = time.AfterFunc(time.Until(next), v.expire)
}

func (v *vault) sweep(now time.Time) {
	for i := len(v.kept) - 1; i >= 0; i-- {
		if !now.Before(v.kept[i].expires) {
			v.drop(i)
		}
	}
}

// drop forgets a credential, and takes it out of what is searched for unless another
// one has the same value.
func (v *vault) drop(i int) {
	gone := v.kept[i]
	v.kept = append(v.kept[:i:i], v.kept[i+1:]...)
	for _, c := range v.kept {
		if c.real == gone.real {
			return
		}
	}
	v.scrub.forget(gone.name, gone.real)
}

// find gives the credential that a placeholder stands for.
func (v *vault) find(placeholder string) *credential {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sweep(time.Now())
	for _, c := range v.kept {
		if c.placeholder == placeholder {
			return c
		}
	}
	return nil
}

// covers reports whether there is a credential for an origin.
func (v *vault) covers(name string, to origin) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sweep(time.Now())
	for _, c := range v.kept {
		if c.name == name && c.origin == to {
			return true
		}
	}
	return false
}

func (v *vault) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	if v.timer != nil {
		v.timer.Stop()
	}
	for len(v.kept) > 0 {
		v.drop(len(v.kept) - 1)
	}
}

// capture takes credentials out of the answer to a method.
func (g *Gateway) capture(method string, from destination, private bool, msg []byte) ([]byte, error) {
	for _, c := range g.captures {
		if c.Method != method {
			continue
		}
		cred, err := c.target(from, private, msg)
		if err != nil {
			return nil, sdk.Errorf(sdk.Internal, "the answer to %s is %v", method, err)
		}
		msg, err = replaceField(msg, c.field, func(real string) string {
			if real == "" {
				return ""
			}
			cred.real = real
			return g.vault.keep(cred, c.JWT)
		})
		if err != nil {
			return nil, sdk.Errorf(sdk.Internal, "the answer to %s is %v", method, err)
		}
	}
	return msg, nil
}

// target reads for what a credential is good. It may be private or unencrypted only
// where the user has configured the one who answers to be so.
func (c capture) target(from destination, private bool, msg []byte) (credential, error) {
	cred := credential{name: c.Name}
	if c.url == nil {
		return cred, nil
	}
	text, err := readField(msg, c.url)
	if err != nil {
		return cred, err
	}
	cred.plain = from.users && from.origin.scheme == "http"
	cred.users = from.users && private
	o, err := parseOrigin(originPart(text))
	if err != nil || o.scheme == "http" && !cred.plain {
		o = origin{scheme: "none", host: "none"} // good for nothing
	}
	cred.origin = o
	return cred, nil
}

// capturedLine is the permission under which a method is called at the URL that came
// with a credential.
func (g *Gateway) capturedLine(name, method string) string {
	for _, c := range g.captures {
		for _, pattern := range c.GRPC {
			if c.Name == name && matchMethod([]string{pattern}, method) {
				return access.CapturedCall(c.Capture, pattern)
			}
		}
	}
	return ""
}

// withheldCall is the permission that a call of a URL which came with a credential
// needs, where the manifest asks for it and it was not granted.
func (g *Gateway) withheldCall(to origin, method string) string {
	for _, c := range parseCaptures(g.o.Asked) {
		if c.url == nil || !g.vault.covers(c.Name, to) {
			continue
		}
		for _, pattern := range c.GRPC {
			if matchMethod([]string{pattern}, method) {
				return access.CapturedCall(c.Capture, pattern)
			}
		}
	}
	return ""
}

// originPart cuts path and query off a URL.
func originPart(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return text
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return scheme + "://" + rest
}
