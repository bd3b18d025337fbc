package report

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

const (
	maxBars  = 1000 // in a timeline
	maxLinks = 300  // bars that lead to their calls; more make a page slow
	maxLanes = 12   // of calls at the same time
	lane     = 22   // pixels
)

// timeline is a drawing of when calls ran. Places are parts of the width, in percent.
type timeline struct {
	Height, Axis int
	Ticks        []tick
	Bars         []bar
	Left         int // bars that are not drawn
}

type tick struct{ X, Label string }

type bar struct {
	X, Width string
	Y        int
	Class    string
	Anchor   string // empty = it leads nowhere
	Title    string
}

// stretch is a time, in unix seconds.
type stretch struct{ from, to float64 }

func unix(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

func (c *call) stretch() stretch {
	from := c.Started
	if from == 0 {
		from = c.Queued
	}
	if from == 0 {
		from = c.Ended
	}
	return stretch{from, max(from, c.Ended)}
}

func (r request) stretch() stretch { return stretch{unix(r.Time) - r.Seconds, unix(r.Time)} }

// span is from the first to the last of the run.
func (s *source) span() stretch {
	all := stretch{math.Inf(1), math.Inf(-1)}
	take := func(x stretch) {
		if x.from > 0 && x.from <= x.to && x.to < 1e11 { // a stranger's times can be anything
			all.from, all.to = min(all.from, x.from), max(all.to, x.to)
		}
	}
	for i := range s.calls {
		take(s.calls[i].stretch())
	}
	for _, r := range s.requests {
		take(r.stretch())
	}
	if all.to-all.from < 1e-3 {
		all.to = all.from + 1e-3
	}
	return all
}

// place is where x is in s, and how wide, in percent.
func (s stretch) place(x stretch) (from, width string) {
	percent := func(t float64) float64 { return min(100, max(0, (t-s.from)/(s.to-s.from)*100)) }
	begin := min(percent(x.from), 99.85)
	return fmt.Sprintf("%.2f%%", begin), fmt.Sprintf("%.2f%%", max(0.15, percent(x.to)-begin))
}

// timeline draws the first calls and requests. Requests are in the first lane; calls that run at
// the same time are below each other.
func (s *source) timeline(calls []shownCall, requests []request) *timeline {
	if len(calls) == 0 {
		return nil
	}
	all, t := s.span(), &timeline{}
	if math.IsInf(all.from, 0) {
		return nil
	}
	top := 0
	for i, r := range requests {
		if i == maxBars/2 {
			t.Left += len(requests) - i
			break
		}
		top = lane
		x, width := all.place(r.stretch())
		t.Bars = append(t.Bars, bar{X: x, Width: width, Y: 2, Class: "request", Title: fmt.Sprintf("request %d to %s, %s", r.Number, line(r.Model, 80), seconds(r.Seconds))})
	}
	var free []float64 // when each lane is free again
	for i := range calls {
		if i == maxBars {
			t.Left += len(calls) - i
			break
		}
		c := &calls[i]
		x := c.stretch()
		n := 0
		for n < len(free) && free[n] > x.from {
			n++
		}
		if n = min(n, maxLanes-1); n == len(free) {
			free = append(free, 0)
		}
		free[n] = max(free[n], x.to)
		from, width := all.place(x)
		b := bar{X: from, Width: width, Y: top + n*lane + 2, Class: class(c.State)}
		if len(calls) <= maxLinks {
			b.Anchor, b.Title = c.Anchor, fmt.Sprintf("%s, %s, %s", c.Name, line(string(c.State), 20), seconds(c.Seconds))
		}
		t.Bars = append(t.Bars, b)
	}
	t.Axis = top + len(free)*lane + 2
	t.Height = t.Axis + 20
	t.Ticks = ticks(all.to - all.from)
	return t
}

// ticks are at most six round times.
func ticks(whole float64) []tick {
	step := math.Pow(10, math.Floor(math.Log10(whole/5)))
	for _, by := range []float64{1, 2, 5, 10} {
		if whole/(step*by) <= 5 {
			step *= by
			break
		}
	}
	var all []tick
	for x := 0.0; x <= whole*0.95 && len(all) < 7; x += step {
		all = append(all, tick{fmt.Sprintf("%.3f%%", x/whole*100), seconds(x)})
	}
	return all
}

// class is the state of a call as a class of the style.
func class(s protocol.CallState) string {
	switch s {
	case protocol.CallDone:
		return "done"
	case protocol.CallQueued, protocol.CallRunning:
		return "open"
	case protocol.CallWasCancelled, protocol.CallWasCut:
		return "cancelled"
	}
	return "failed"
}

// seconds is a duration for a reader.
func seconds(s float64) string {
	switch {
	case s < 0 || s > 1e9 || math.IsNaN(s):
		return "?"
	case s == 0:
		return "0 s"
	case s < 1:
		return strconv.FormatFloat(s*1000, 'g', 3, 64) + " ms"
	case s < 100:
		return strconv.FormatFloat(s, 'g', 3, 64) + " s"
	}
	d := time.Duration(s * float64(time.Second)).Round(time.Second)
	if d < time.Hour {
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}
