package engine

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/interpreter"
	"github.com/seer-engine/seer/engine/loading"
	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/protocol"
)

const longestLook = 10 * time.Minute

// HiddenError says that the name of a hidden model can be found where an agent looks, or
// would be there.
type HiddenError struct {
	In     string // what has the places: the sandbox, or what the agent is given
	Places []string
}

func (e *HiddenError) Error() string {
	return "the name of a hidden model can be found in " + e.In + ": " + someOf(e.Places) + "; take it out there, or set hidden: false"
}

// foundHidden is the error of places where a name is; nil where there are none.
func foundHidden(in string, places []string) error {
	if len(places) == 0 {
		return nil
	}
	return &Error{Kind: KindConfig, Err: &HiddenError{in, places}}
}

const inSandbox = "the sandbox"

// probe looks for the names of hidden models wherever an agent in the sandbox could. It is
// an error of [KindConfig] when one is found.
func (u *up) probe(ctx context.Context, s *Sandbox) error {
	if u.hidden.Empty() || u.engine.blinding.unsearched || !u.exp.Sandbox.Whole() {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, longestLook, errors.New("looking for the names of hidden models took too long"))
	defer cancel()
	u.report.Info(StageSession, "looking for the names of hidden models")
	answer, err := u.searched(ctx, s)
	if err != nil {
		return err
	}
	seen, err := u.looked(ctx, s)
	if err != nil {
		return err
	}
	for _, where := range slices.Sorted(maps.Keys(seen)) {
		if _, found := u.hidden.Find(ctx, []byte(seen[where])); found {
			answer.Places = append(answer.Places, where+" in the prepared Python")
		}
	}
	if err := foundHidden(inSandbox, answer.Places); err != nil {
		return err
	}
	if u.chosen.Isolation == "none" {
		u.report.Warn(StageSession, "isolation none hides no model: the agent can read its name in the files of this computer")
		return nil
	}
	u.report.Done(StageSession, "%s", Unfound("the sandbox's files, processes and prepared Python", answer.Unsearched))
	return nil
}

// Unfound says where no name was found, and that something was not searched.
func Unfound(in string, unsearched []string) string {
	text := "found no name of a hidden model in " + in
	if len(unsearched) > 0 {
		text += ", except in what was not searched"
	}
	return text
}

// searched are the places of the file tree and the processes that have a name.
func (u *up) searched(ctx context.Context, s *Sandbox) (answer namesearch.Answer, err error) {
	request := namesearch.Request{Spec: u.hidden.Spec(), Roots: []string{"/models", "/workspace", "/tmp", "/seer", "/run", "/dev/shm", "~"}}
	for _, m := range u.models {
		request.Vocabularies = append(request.Vocabularies, m.Path)
	}
	for _, up := range u.plan.UploadsOf(u.chosen) {
		request.Roots = append(request.Roots, up.Remote)
	}
	for _, v := range u.plan.Volumes {
		request.Roots = append(request.Roots, v.Path)
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	input, err := request.Mask(key)
	if err != nil {
		return answer, err
	}
	var out, said bytes.Buffer
	spec := protocol.ProcessSpec{Argv: []string{protocol.RuntimeProgram, "search"}, Stdin: true}
	p, err := s.Exec(ctx, spec, bytes.NewReader(input), &out, &said)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil || p.ExitCode != 0 {
		return answer, fmt.Errorf("look for the names of hidden models: exit code %d: %s", p.ExitCode, strings.TrimSpace(said.String()))
	}
	for _, what := range answer.Unsearched {
		u.report.Warn(StageSession, "Seer has not looked for the names of hidden models in all of %s", what)
	}
	return answer, nil
}

// looked are the texts that a user of the prepared kernel or interpreter can see.
func (u *up) looked(ctx context.Context, s *Sandbox) (map[string]string, error) {
	var variables []string
	if !u.exp.Workspace.NoPreload {
		for _, m := range u.exp.Sandbox.Models {
			variables = append(variables, m.VarName, m.TokenizerName())
		}
	}
	var text string
	var err error
	switch u.exp.Sandbox.ExecutionMode {
	case experiment.ModeNotebook:
		text, err = s.runHidden(ctx, loading.Look(variables))
	case experiment.ModeCLI:
		text, err = interpreter.Execute(ctx, s.runtime, interpreter.Python{}, loading.Look(variables))
	default:
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at what is prepared: %w", err)
	}
	seen := map[string]string{}
	if err := json.Unmarshal([]byte(lastLine(text)), &seen); err != nil {
		return nil, fmt.Errorf("look at what is prepared: %w", err)
	}
	return seen, nil
}

// lastLine is what the code that looks has printed, after whatever it has woken.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// runHidden runs code in the first kernel, without a cell, and returns what it prints.
func (s *Sandbox) runHidden(ctx context.Context, code string) (string, error) {
	client, err := s.Notebook(ctx)
	if err != nil {
		return "", err
	}
	defer client.Close()
	sessions, err := client.Sessions(ctx)
	if err != nil {
		return "", err
	}
	if len(sessions) == 0 {
		return "", errors.New("there is no kernel")
	}
	run, err := client.AddCell(ctx, sessions[0].ID, notebook.NewCell{Type: "code", Source: code, Run: true, Hidden: true})
	if err != nil {
		return "", err
	}
	if run.Execution == nil {
		return "", errors.New("the kernel did not run the code")
	}
	done, err := client.Wait(ctx, run.Execution.ID)
	if err != nil {
		return "", err
	}
	if done.Error != nil {
		return "", fmt.Errorf("%s: %s", done.Error.EName, done.Error.EValue)
	}
	text, _, err := client.Text(ctx, done.ID, 0, done.TextBytes)
	return string(text), err
}
