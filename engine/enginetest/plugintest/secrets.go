package plugintest

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

// madeUp gives each secret of a manifest a value that cannot be there by chance.
func madeUp(m sdk.Manifest) map[string]string {
	out := map[string]string{}
	for _, s := range m.Secrets {
		out[s.Name] = "seer-canary-" + strings.ToLower(rand.Text())
	}
	return out
}

func values(secrets map[string]string) []string {
	var out []string
	for _, v := range secrets {
		out = append(out, v)
	}
	return out
}

// disguises are the forms in which a secret may come out.
func disguises(secret string) []string {
	out := []string{secret, url.QueryEscape(secret), hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret)))}
	for before := range 3 { // in the middle of something longer
		whole := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), secret...))
		out = append(out, whole[4:(before+len(secret))*8/6])
	}
	runes := []rune(secret)
	for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
		runes[i], runes[j] = runes[j], runes[i]
	}
	return append(out, string(runes), strings.ToUpper(secret))
}

// shown tells which secrets are in a text, by their names.
func shown(secrets map[string]string, text string) []string {
	var out []string
	for name, value := range secrets {
		for _, form := range disguises(value) {
			if strings.Contains(text, form) {
				out = append(out, name)
				break
			}
		}
	}
	return out
}

// listener takes what plugin and simulator say, and remembers which secrets it heard.
type listener struct {
	out     io.Writer
	secrets map[string]string

	mu    sync.Mutex
	tail  string // what may be the beginning of a secret
	heard map[string]bool
	calls int // whose log was cut off
	bytes int64
}

func newListener(out io.Writer, secrets map[string]string) *listener {
	if out == nil {
		out = io.Discard
	}
	return &listener{out: out, secrets: secrets, heard: map[string]bool{}}
}

const longestDisguise = 512

// ownNoise is what Extism itself says of each call.
var ownNoise = lazyregexp.New(`^\[DEBUG\] [a-z0-9-]+: (Calling (function : |_initialize)|Initializing runtime )`)

// Write takes the simulator's words: it may know the secrets.
func (l *listener) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(b)
}

// plugin takes the plugin's words.
type plugin struct{ *listener }

func (p plugin) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.Contains(string(b), "logs too much") {
		p.calls++
	}
	text := p.tail + string(b)
	for _, name := range shown(p.secrets, text) {
		p.heard[name] = true
	}
	p.tail = text[max(0, len(text)-longestDisguise):]
	if ownNoise().Match(b) {
		return len(b), nil
	}
	p.bytes += int64(len(b))
	return p.out.Write(b)
}

func (l *listener) logger() hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: plugin{l}, DisableTime: true})
}

// leaks looks for the secrets in the log, in the report and in the plugin's memory.
func (r *run) leaks(check string, h *host.Host) {
	start := time.Now()
	if len(r.secrets) == 0 {
		r.skip(check, "there is no secret")
		return
	}
	var wrong []string
	for name, value := range r.secrets {
		if h.Holds([]byte(value)) {
			wrong = append(wrong, fmt.Sprintf("%s is in the plugin's memory", name))
		}
		if r.said.heard[name] {
			wrong = append(wrong, fmt.Sprintf("%s is in the log", name))
		}
	}
	for i, result := range r.report.Results {
		for _, name := range shown(r.secrets, result.Detail) {
			wrong = append(wrong, fmt.Sprintf("%s is in what was said at %s", name, result.Check))
			r.report.Results[i].Detail = "(it held a secret)"
		}
	}
	r.add(check, start, strings.Join(wrong, "; "), nil)
}
