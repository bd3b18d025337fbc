package run

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/engine/trust"
)

// sightingsTimeout bounds the search of what a run has left.
const sightingsTimeout = time.Minute

// Where an agent gets answers from.
const (
	fromSandbox  = "the sandbox's answers to the agent"
	fromNotebook = "the notebook's answers to the agent"
	fromSaved    = "the saved notebook"
	fromAgent    = "the agent's messages"
)

// sightings are the names of hidden models that a run has shown. Nothing is replaced in
// what an agent sees: a mark in the place of a name would confirm a guess.
type sightings struct {
	names namesearch.Names

	said    *namesearch.Counter // what the agent says, piece by piece
	reading sync.WaitGroup      // of what was passed on
	mu      sync.Mutex
	times   map[string]int // by place
}

// watchNames begins to look for the names that the agent of the sandboxes is not to know.
func (r *runner) watchNames(sandboxes ...*engine.Sandbox) error {
	var all []namesearch.Names
	for _, s := range sandboxes {
		names, err := s.HiddenNames()
		if err != nil {
			return err
		}
		all = append(all, names)
	}
	if names := namesearch.Join(all...); !names.Empty() {
		r.agent.seen = &sightings{names: names, said: names.NewCounter(), times: map[string]int{}}
	}
	return nil
}

// searchView looks for the names in everything that the agent is given, before it starts.
func (r *runner) searchView(ctx context.Context) error {
	if r.agent.seen == nil || r.opts.unguarded {
		return nil
	}
	view := engine.AgentView{Folder: r.exp.Workspace.Dir, Texts: map[string]string{
		"its command": strings.Join(r.agent.argv(r.exp), "\n"), "its variables": namesearch.Variables(r.agent.variables(r.exp)),
		// The list of mounts shows it.
		"the path of its folder": r.exp.Workspace.Dir + "\n" + trust.Real(r.exp.Workspace.Dir),
		"its prompt":             r.prompt,
	}}
	for _, s := range r.services {
		text, err := json.Marshal(s.Interface())
		if err != nil {
			return err
		}
		view.Texts["the description of "+s.Name()] = string(text)
	}
	unsearched, err := view.Search(ctx, r.agent.seen.names)
	if err != nil {
		return err
	}
	for _, what := range unsearched {
		r.report.Send(event.HiddenUnsearched{In: what})
	}
	if !r.agent.confined() {
		r.report.Send(event.HiddenNotIsolated{Field: "agent.isolation"})
		return nil
	}
	r.report.Send(event.HiddenSearchFinished{In: "the agent's folder, variables, command and tools", Unsearched: unsearched})
	return nil
}

// add notes names at a place.
func (s *sightings) add(place string, times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times[place] += times
}

// most notes names at a place that is read again and again.
func (s *sightings) most(place string, times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times[place] = max(s.times[place], times)
}

// watch returns where a copy of what one connection answers goes; nil = nobody looks.
func (s *sightings) watch(place string) func() io.WriteCloser {
	if s == nil {
		return nil
	}
	return func() io.WriteCloser {
		r, w := io.Pipe()
		s.reading.Go(func() {
			s.answers(place, r)
			_, _ = io.Copy(io.Discard, r) // what passes is never held up
		})
		return w
	}
}

// hears looks at a message of the agent, which may be a piece of one: the output of its program has
// each piece in a line of its own.
func (s *sightings) hears(update map[string]any) {
	if s == nil {
		return
	}
	content, _ := update["content"].(map[string]any)
	text, ok := content["text"].(string)
	if kind := update["sessionUpdate"]; kind != "agent_message_chunk" && kind != "agent_thought_chunk" || !ok {
		text = apart
	}
	_, _ = io.WriteString(s.said, text)
}

// left looks through what a run has left: the agent's output, if the run keeps it, and its results.
func (s *sightings) left(ctx context.Context, results *results, space *os.Root) (unsearched []string) {
	ctx, cancel := context.WithTimeout(ctx, sightingsTimeout)
	defer cancel()
	places := [][2]string{{space.Name(), outputsName}}
	if results != nil {
		places = append(places, [2]string{results.root.Name(), agentLog})
	}
	for _, p := range places {
		found, not := s.names.Sightings(ctx, p[0], p[1])
		for _, f := range found {
			s.add(namesearch.Place(f.Path, f.Form), f.Times)
		}
		unsearched = append(unsearched, not...)
	}
	if ctx.Err() != nil {
		unsearched = append(unsearched, "the agent's files: the search takes longer than "+sightingsTimeout.String())
	}
	return unsearched
}

// HiddenName says where, and how often, a run has shown the name of a hidden model.
type HiddenName struct {
	Where string `json:"where"`
	Times int    `json:"times"`
}

func (h HiddenName) String() string {
	if h.Times == 1 {
		return "once in " + h.Where
	}
	return fmt.Sprintf("%d times in %s", h.Times, h.Where)
}

// list is what was seen, in order of the places.
func (s *sightings) list() (all []HiddenName) {
	for _, where := range slices.Sorted(maps.Keys(s.times)) {
		if s.times[where] > 0 {
			all = append(all, HiddenName{where, s.times[where]})
		}
	}
	return all
}

// reportNames says after the run where names of hidden models were seen. The agent has
// ended, and no connection of its is open.
func (r *runner) reportNames(ctx context.Context) {
	s := r.agent.seen
	if s == nil || !r.agent.begun {
		return
	}
	s.reading.Wait()
	s.add(fromAgent, s.said.Count())
	unsearched := s.left(ctx, r.results, r.space.root)
	for _, what := range unsearched {
		r.report.Send(event.HiddenUnsearched{In: what})
	}
	r.result.HiddenNames = s.list()
	if len(r.result.HiddenNames) == 0 {
		in := "the agent's output, its results and the answers to it"
		if !r.agent.confined() {
			in = "the agent's output and its results"
		}
		r.report.Send(event.HiddenNamesUnseen{In: in, Unsearched: unsearched})
		return
	}
	var texts []string
	for _, h := range r.result.HiddenNames {
		texts = append(texts, h.String())
	}
	r.report.Send(event.HiddenNamesSeen{Places: texts})
}
