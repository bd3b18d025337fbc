package runs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/seer-engine/seer/engine/event"
)

// idPrefix begins the ID of each run.
const idPrefix = "run-"

// mostArtifacts is how many files a log may name.
const mostArtifacts = 20_000

// summarizer makes a summary of the lines of a log.
type summarizer struct {
	Summary
	artifacts  []event.RunArtifact
	provenance Provenance
	places     map[string]int // of artifacts, by path
	seq        int64          // of the last event
	ended      *event.RunEnded
	requested  string // the model of the first request
	total      float64
}

func (s *summarizer) read(log io.Reader) error {
	return lines(log, func(_ int, line []byte) bool {
		if err := s.line(line); err != nil {
			s.Faults++
		}
		return true
	})
}

func (s *summarizer) line(line []byte) error {
	if line == nil {
		return errLong
	}
	h, err := headerOf(line)
	if err != nil {
		return err
	}
	s.EventCount++
	s.Last = h.Time.UTC()
	if s.ID == "" {
		s.ID, s.Started = h.Run, s.Last
	}
	if h.Seq > s.seq {
		s.Lost = plus(s.Lost, h.Seq-s.seq-1)
		s.seq = h.Seq
	}
	switch h.Type {
	case "run.started", "run.plugin", "run.model", "run.code", "run.packages", "run.artifact", "run.ended", "agent.program", "agent.model_request", "agent.finished", "boot.ready", "boot.resumed":
	default:
		return nil
	}
	var e event.Event
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	s.event(e)
	return nil
}

// event takes what belongs to the summary.
func (s *summarizer) event(e event.Event) {
	s.provenance.Add(e.Data)
	switch d := e.Data.(type) {
	case event.RunStarted:
		s.ID, s.Started = e.Run, e.Time.UTC()
		s.Experiment, s.File, s.Version, s.SHA256 = d.Experiment, d.File, d.Version, d.SHA256
	case event.RunArtifact:
		s.artifact(d)
	case event.RunEnded:
		s.ended, s.Ended = &d, e.Time.UTC()
	case event.AgentProgram:
		s.Provider, s.Model = d.Provider, d.Model
		s.Program, s.ProgramVersion, s.ProgramSHA256 = d.Path, d.Version, d.SHA256
	case event.ModelRequest:
		s.request(d)
	case event.AgentFinished:
		s.ExitCode = &d.ExitCode
	case event.SandboxReady:
		s.Sandbox = d.Sandbox
	case event.SandboxResumed:
		s.Sandbox = d.Sandbox
	}
}

func (s *summarizer) artifact(d event.RunArtifact) {
	if i, ok := s.places[d.Path]; ok {
		s.artifacts[i] = d
		return
	}
	if len(s.artifacts) == mostArtifacts {
		return
	}
	if s.places == nil {
		s.places = map[string]int{}
	}
	s.places[d.Path] = len(s.artifacts)
	s.artifacts = append(s.artifacts, d)
}

func (s *summarizer) request(d event.ModelRequest) {
	s.requested = cmp.Or(s.requested, d.Model)
	s.Requests++
	s.Input = plus(s.Input, d.Input)
	s.Output = plus(s.Output, d.Output)
	s.CacheRead = plus(s.CacheRead, d.CacheRead)
	s.CacheWrite = plus(s.CacheWrite, d.CacheWrite)
	s.Estimated = s.Estimated || d.Estimated
	s.Unpriced = s.Unpriced || d.Unpriced
	s.ModelCost = math.Min(s.ModelCost+math.Max(d.Cost, 0), math.MaxFloat64) // JSON has no infinity
	s.total = math.Max(s.total, d.Total)                                     // of requests that the log lacks, too
}

// plus adds what a stranger's log may have.
func plus(a, b int64) int64 {
	if b <= 0 || a > math.MaxInt64-b {
		return a
	}
	return a + b
}

// finish says what follows from all of it. live = the writer of the log lives.
func (s *summarizer) finish(live bool) {
	s.Model = cmp.Or(s.Model, s.requested)
	s.ModelCost = math.Max(s.ModelCost, s.total)
	s.Seconds = max(s.Last.Sub(s.Started).Seconds(), 0)
	switch end := s.ended; {
	case end != nil:
		s.State, s.Error, s.Seconds = State(end.State), end.Error, end.Seconds
		s.Calls, s.Files, s.Cost = end.Calls, end.Files, end.Cost
		s.ModelCost = math.Max(s.ModelCost, end.ModelCost)
		s.ExitCode = nil
		if end.ExitCode >= 0 {
			s.ExitCode = &end.ExitCode
		}
		if s.State != Finished && s.State != Failed && s.State != Stopped {
			s.State, s.Error = Failed, fmt.Sprintf("the log ends with the unknown state %.40q", end.State)
		}
	case live:
		s.State = Running
	default:
		s.State = Interrupted
		s.Error = "the program that ran it died before the run had ended"
	}
}
