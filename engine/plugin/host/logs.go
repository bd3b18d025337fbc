package host

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"

	extism "github.com/extism/go-sdk"
	"github.com/hashicorp/go-hclog"
)

// logSink is where a plugin's log lines go.
type logSink struct {
	log   hclog.Logger
	scrub func(string) string
}

// callLog bounds what one call logs and remembers the end of what it printed, for
// that is where a crashing guest says why.
type callLog struct {
	sink  *logSink
	whole bool // for tests of attacks: what a guest writes at once is copied as a whole

	mu      sync.Mutex
	left    int // bytes
	dropped bool
	partial []byte
	tail    []byte
}

const (
	tailBytes = 8 << 10
	lineBytes = 4 << 10
)

// reset begins a call.
func (l *callLog) reset(budget int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left, l.dropped, l.partial, l.tail = budget, false, nil, nil
}

// Write takes the guest's stdout and stderr. A guest may write its whole memory at once, so
// it is copied in pieces.
func (l *callLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.whole {
		l.take(b)
		return len(b), nil
	}
	for piece := range slices.Chunk(b, lineBytes) {
		l.take(piece)
	}
	return len(b), nil
}

func (l *callLog) take(b []byte) {
	l.tail = append(l.tail, b...)
	if extra := len(l.tail) - tailBytes; extra > 0 {
		l.tail = append(l.tail[:0], l.tail[extra:]...)
	}
	if l.dropped {
		return
	}
	l.partial = append(l.partial, b...)
	rest := l.partial
	for {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 && len(rest) > lineBytes {
			i = lineBytes
		}
		if i < 0 {
			l.partial = append(l.partial[:0], rest...)
			return
		}
		l.line(hclog.Debug, string(rest[:i]))
		rest = bytes.TrimPrefix(rest[i:], []byte("\n"))
	}
}

// extism takes what the guest logs through the PDK.
func (l *callLog) extism(level extism.LogLevel, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.SplitSeq(text, "\n") {
		l.line(map[extism.LogLevel]hclog.Level{
			extism.LogLevelTrace: hclog.Trace, extism.LogLevelDebug: hclog.Debug, extism.LogLevelInfo: hclog.Info,
			extism.LogLevelWarn: hclog.Warn, extism.LogLevelError: hclog.Error,
		}[level], line)
	}
}

func (l *callLog) line(level hclog.Level, text string) {
	if l.left -= len(text) + 1; l.left < 0 {
		if !l.dropped {
			l.dropped = true
			l.sink.log.Warn("the plugin logs too much; the rest of this call's log is dropped")
		}
		return
	}
	if text = strings.TrimRight(text, "\r\n"); text != "" {
		l.sink.log.Log(level, oneLine(l.sink.scrub(strings.ToValidUTF8(text, "�"))))
	}
}

// reason finds the line in which a language's runtime says why it gave up.
func (l *callLog) reason() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range strings.Split(string(l.tail), "\n") {
		for _, prefix := range []string{"panic: ", "fatal error: ", "memory allocation of "} {
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				if prefix == "memory allocation of " {
					rest = line
				}
				return oneLine(l.sink.scrub(strings.ToValidUTF8(rest, "�")))
			}
		}
	}
	return ""
}

// firstLine drops Wasm stack traces from an error's text.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimSuffix(fmt.Sprint(line), " (recovered by wazero)")
}
