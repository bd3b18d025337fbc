package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/seer-engine/seer/engine"
)

// progress shows the engine's events.
func (t *terminal) progress(e engine.Event) {
	if !t.json {
		e.Message = harmless(e.Message)
	}
	switch {
	case t.json:
		if data, err := json.Marshal(map[string]engine.Event{"event": e}); err == nil && (!t.quiet || e.Level == engine.LevelWarn) {
			fmt.Fprintf(t.stderr(), "%s\n", data)
		}
	case e.Level == engine.LevelWarn:
		t.note("warning", e.Message)
	case t.quiet:
	case e.Level == engine.LevelLog:
		fmt.Fprintln(t.stderr(), t.paint(dim, "  "+e.Message))
	case t.live != nil && !e.Done:
		t.live.show(string(e.Stage), e.Message)
	case t.live != nil:
		fmt.Fprintln(t.stderr(), t.paint(green, "✓"), e.Message)
		t.live.hide()
	default:
		fmt.Fprintf(t.stderr(), "%s: %s\n", e.Stage, e.Message)
	}
}

// note tells the user something that is neither progress nor a failure.
func (t *terminal) note(word, text string) {
	if t.json {
		t.progress(engine.Event{Time: time.Now(), Stage: engine.StageEnd, Level: engine.LevelWarn, Message: word + ": " + text})
		return
	}
	fmt.Fprintln(t.stderr(), t.paint(yellow, word+":"), harmless(text))
}

// tell is a remark that is not a result.
func (t *terminal) tell(format string, args ...any) {
	if !t.quiet && !t.json {
		fmt.Fprintf(t.stderr(), format+"\n", args...)
	}
}

// spinner is the live line. All its fields are guarded by the terminal's mutex.
type spinner struct {
	t     *terminal
	text  string // empty = hidden
	since time.Time
	drawn bool
	frame int
	end   chan struct{}
	once  sync.Once
}

const frames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

func newSpinner(t *terminal) *spinner { return &spinner{t: t} }

func (s *spinner) show(stage, text string) {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	s.text, s.since = stage+": "+text, time.Now()
	s.draw()
	if s.end == nil {
		s.end = make(chan struct{})
		go s.spin()
	}
}

func (s *spinner) hide() {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	s.clear()
	s.text = ""
}

func (s *spinner) stop() {
	s.hide()
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	if s.end != nil {
		s.once.Do(func() { close(s.end) })
	}
}

func (s *spinner) spin() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-s.end:
			return
		case <-tick.C:
		}
		s.t.mu.Lock()
		if s.text != "" {
			s.draw()
		}
		s.t.mu.Unlock()
	}
}

func (s *spinner) draw() {
	s.frame++
	glyphs := []rune(frames)
	line := s.text
	if d := time.Since(s.since); d >= time.Second {
		line += fmt.Sprintf(" (%d s)", int(d.Seconds()))
	}
	width, _, err := term.GetSize(int(s.t.err.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	if r := []rune(line); len(r) > width-3 {
		line = string(r[:max(0, width-4)]) + "…"
	}
	line = strings.ReplaceAll(line, "\n", " ")
	fmt.Fprintf(s.t.err, "\r\x1b[K%s %s", s.t.paint(dim, string(glyphs[s.frame%len(glyphs)])), line)
	s.drawn = true
}

// clear takes the line away until the next tick.
func (s *spinner) clear() {
	if s.drawn {
		fmt.Fprint(s.t.err, "\r\x1b[K")
		s.drawn = false
	}
}
