package blinding

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/modelload"
	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/protocol"
)

const longestScan = 10 * time.Minute

// Sandbox is what a [Scan] needs of the sandbox that it searches.
type Sandbox struct {
	// Exec runs a command and streams its output.
	Exec func(ctx context.Context, spec protocol.ProcessSpec, stdin io.Reader, stdout, stderr io.Writer) (protocol.Process, error)
	// Python runs code in the prepared kernel or interpreter, and returns what it prints;
	// nil = there is none.
	Python func(ctx context.Context, code string) (string, error)
}

// Scan searches a prepared sandbox wherever its agent could look.
type Scan struct {
	Names        namesearch.Names
	Roots        []string // folders in the sandbox besides those that all have
	Vocabularies []string // folders of models, whose tokens are no names
	Variables    []string // of the prepared Python that hold models
	Isolated     bool     // the agent has no other way to the files of the sandbox's computer
	Report       event.Reporter
}

// ScanOf is the search of a sandbox that was started as planned.
func ScanOf(exp *experiment.Experiment, p plan.Plan, chosen plan.Choice, models []machine.Model, names namesearch.Names, report event.Reporter) Scan {
	s := Scan{Names: names, Isolated: chosen.Isolation != "none", Report: report}
	for _, m := range models {
		if m.Dataset {
			s.Roots = append(s.Roots, m.Path)
			continue
		}
		s.Vocabularies = append(s.Vocabularies, m.Path)
	}
	for _, up := range p.UploadsOf(chosen) {
		s.Roots = append(s.Roots, up.Remote)
	}
	for _, v := range p.Volumes {
		s.Roots = append(s.Roots, v.Path)
	}
	if !exp.Workspace.NoPreload {
		for _, m := range exp.Sandbox.Models {
			s.Variables = append(s.Variables, m.VarName, m.TokenizerName())
		}
	}
	return s
}

// Search is an error of [errdefs.KindConfig] that has a [HiddenError] when a name is found.
func (s Scan) Search(ctx context.Context, in Sandbox) error {
	ctx, cancel := context.WithTimeoutCause(ctx, longestScan, errors.New("looking for the names of hidden models took too long"))
	defer cancel()
	s.Report.Send(event.HiddenSearchStarted{})
	answer, err := s.files(ctx, in)
	if err != nil {
		return err
	}
	seen, err := s.python(ctx, in)
	if err != nil {
		return err
	}
	for _, where := range slices.Sorted(maps.Keys(seen)) {
		if _, found := s.Names.Find(ctx, []byte(seen[where])); found {
			answer.Places = append(answer.Places, where+" in the prepared Python")
		}
	}
	if err := Found(inSandbox, answer.Places); err != nil {
		return err
	}
	if !s.Isolated {
		s.Report.Send(event.HiddenNotIsolated{Field: "isolation"})
		return nil
	}
	s.Report.Send(event.HiddenSearchFinished{In: "the sandbox's files, processes and prepared Python", Unsearched: answer.Unsearched})
	return nil
}

// files are the places of the file tree and the processes that have a name.
func (s Scan) files(ctx context.Context, in Sandbox) (answer namesearch.Answer, err error) {
	roots := append([]string{"/models", "/workspace", "/tmp", "/seer", "/run", "/dev/shm", "~"}, s.Roots...)
	request := namesearch.Request{Spec: s.Names.Spec(), Roots: roots, Vocabularies: s.Vocabularies}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	input, err := request.Mask(key)
	if err != nil {
		return answer, err
	}
	var out, said bytes.Buffer
	spec := protocol.ProcessSpec{Argv: []string{protocol.RuntimeProgram, "search"}, Stdin: true}
	p, err := in.Exec(ctx, spec, bytes.NewReader(input), &out, &said)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil || p.ExitCode != 0 {
		return answer, fmt.Errorf("look for the names of hidden models: exit code %d: %s", p.ExitCode, strings.TrimSpace(said.String()))
	}
	for _, what := range answer.Unsearched {
		s.Report.Send(event.HiddenUnsearched{In: what})
	}
	return answer, nil
}

// python are the texts that a user of the prepared kernel or interpreter can see.
func (s Scan) python(ctx context.Context, in Sandbox) (map[string]string, error) {
	if in.Python == nil {
		return map[string]string{}, nil
	}
	text, err := in.Python(ctx, modelload.Look(s.Variables))
	if err != nil {
		return nil, fmt.Errorf("search the prepared kernel: %w", err)
	}
	seen := map[string]string{}
	if err := json.Unmarshal([]byte(lastLine(text)), &seen); err != nil {
		return nil, fmt.Errorf("search the prepared kernel: %w", err)
	}
	return seen, nil
}

// lastLine is what the code that looks has printed, after whatever it has woken.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
