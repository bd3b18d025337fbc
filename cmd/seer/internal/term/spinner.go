package term

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/seer-engine/seer/engine/event"
)

// spinner is the live line. All its fields are guarded by the terminal's mutex.
type spinner struct {
	t      *Terminal
	step   string // what is being done; empty = hidden
	detail string // how far, or what somebody else says of it
	stage  string
	since  time.Time // of the step
	drawn  bool
	frame  int
	end    chan struct{}
	once   sync.Once

	output []string // the last lines of somebody else's in this stage, which are not on the screen
}

const (
	frames         = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
	asciiFrames    = `|/-\`
	maxOutputLines = 25

	// The cursor stays at the beginning of the line: wherever a terminal that changes its
	// width lets the line break, it is below the cursor.
	erase = "\r\x1b[J"
)

func newSpinner(t *Terminal) *spinner { return &spinner{t: t} }

// begin shows a step. What was said in another stage has nothing to do with it; how a
// failure is cleaned up is no stage of its own.
func (s *spinner) begin(stage event.Stage, text string) {
	if stage == event.StageFix {
		s.t.Reveal() // the tool before could not be installed
	}
	s.t.mu.Lock()
	if stage != event.StageEnd && s.stage != string(stage) {
		s.output = nil
	}
	s.t.mu.Unlock()
	s.show(string(stage), text)
}

func (s *spinner) show(stage, text string) {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	if step := stage + ": " + plainLine(text); s.step != step {
		s.open(stage, step)
		s.draw()
	}
}

// open makes a step the present one.
func (s *spinner) open(stage, step string) {
	s.stage, s.step, s.detail, s.since = stage, step, "", time.Now()
	if s.end == nil {
		s.end = make(chan struct{})
		go s.spin()
	}
}

// addOutput takes a line of somebody else's, for the live line and for a failure.
func (s *spinner) addOutput(stage, line string) {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	if s.output = append(s.output, line); len(s.output) > maxOutputLines {
		s.output = s.output[1:]
	}
	s.details(stage, line)
}

// moved is how far the copying of the step is.
func (s *spinner) moved(stage string, bytes, total int64) {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	text := Size(bytes)
	if total >= bytes && total > 0 {
		text = fmt.Sprintf("%s of %s", text, Size(total))
	}
	if s.step != "" {
		text += rate(bytes, time.Since(s.since))
	}
	s.details(stage, text)
}

// counted is how much of something a step has found.
func (s *spinner) counted(stage, text string) {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	s.details(stage, text)
}

// rate is the mean speed, once it means something.
func rate(bytes int64, took time.Duration) string {
	if took < time.Second {
		return ""
	}
	return fmt.Sprintf(", %s/s", Size(int64(float64(bytes)/took.Seconds())))
}

// details is for what changes often: it is drawn with the next tick.
func (s *spinner) details(stage, text string) {
	if s.step == "" {
		s.open(stage, stage)
		s.draw()
	}
	s.detail = text
}

// hide is for a step that is finished.
func (s *spinner) hide() {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	s.clear()
	s.step, s.output = "", nil
}

func (s *spinner) stop() {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	s.clear()
	s.step = ""
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
		if s.step != "" {
			s.draw()
		}
		s.t.mu.Unlock()
	}
}

func (s *spinner) draw() {
	s.frame++
	glyphs := []rune(frames)
	if s.t.ascii {
		glyphs = []rune(asciiFrames)
	}
	width, _, err := term.GetSize(int(s.t.Err.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	s.t.endLine(s.t.Err)
	line := liveLine(s.step, s.detail, time.Since(s.since), width-3)
	fmt.Fprintf(s.t.Err, erase+"%s %s\r", s.t.paint(dim, string(glyphs[s.frame%len(glyphs)])), line)
	s.drawn = true
}

// clear takes the line away until the next tick.
func (s *spinner) clear() {
	if s.drawn {
		fmt.Fprint(s.t.Err, erase)
		s.drawn = false
	}
}
