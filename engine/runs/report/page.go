package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/runs"
)

// page is what page.html shows.
type page struct {
	source *source
	limits limits
	images int // bytes of images so far

	Policy string
	CSS    template.CSS
	JS     template.JS

	Title     string
	Summary   runs.Summary
	Facts     []fact
	Error     text
	Result    *entry
	Reports   []entry
	Items     []entry
	ItemsLeft string
	Prompt    *text
	Notebooks []shownNotebook
	Figures   []figure
	Timeline  *timeline
	Calls     []shownCall
	CallsLeft string
	Cost      cost
	Origin    shownOrigin
	Warnings  []warning
	Faults    []string
}

type fact struct{ Name, Value string }

// entry is a part of the transcript.
type entry struct {
	Kind  string // one of the kinds of runs.Item
	Label string
	Name  string // of what is folded
	State string
	Time  string
	HTML  template.HTML
	Text  text
	Input text
	Plan  []runs.PlanEntry
}

type shownNotebook struct {
	Name, Language, Note string
	Cells                []shownCell
}

type figure struct {
	Name, Note string
	Image      template.HTML
}

type shownCall struct {
	*call
	Name, Took, Brief, Status, Class      string
	Facts                                 []fact
	ShownArguments, ShownResult, ShownOut text
	Failure                               text
	Items                                 int
}

func (s *source) page(l limits) *page {
	p := &page{source: s, limits: l, Summary: s.Summary, Faults: s.faults, Warnings: s.warnings}
	p.Title = cmp.Or(line(s.Experiment, 80), "Run") + " – " + line(s.ID, 40)
	p.Facts = s.facts()
	p.Error = plain(s.Error, l.text, runs.EventsName)
	p.transcript()
	p.outputs()
	p.calls()
	p.Cost = s.cost(l.items)
	p.Origin = p.origin()
	return p
}

func (s *source) facts() []fact {
	agent := strings.TrimSpace(s.Provider + " " + s.ProgramVersion)
	all := []fact{
		{"Experiment", s.Experiment}, {"Agent", agent}, {"Model", s.Model},
		{"Started", moment(s.Started)}, {"Duration", seconds(s.Seconds)},
		{"Calls", strconv.Itoa(max(s.Calls, len(s.calls)))}, {"Model requests", strconv.FormatInt(s.Requests, 10)},
		{"Cost of the model", dollars(s.ModelCost)}, {"Cost of the sandbox", dollars(s.Cost)},
		{"Results", strconv.Itoa(s.Files) + " files"},
	}
	if s.ExitCode != nil {
		all = append(all, fact{"Exit code", strconv.Itoa(*s.ExitCode)})
	}
	all = slices.DeleteFunc(all, func(f fact) bool { return f.Value == "" })
	for i := range all {
		all[i].Value = line(all[i].Value, 120)
	}
	return all
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

func dollars(usd float64) string {
	switch {
	case usd < 0 || usd > 1e12:
		return "?" // a stranger's
	case usd == 0:
		return "$0"
	case usd < 0.01:
		return "$" + strconv.FormatFloat(usd, 'g', 2, 64)
	}
	return "$" + strconv.FormatFloat(usd, 'f', 2, 64)
}

var labels = map[string]string{
	runs.ItemUser: "User", runs.ItemMessage: "Agent", runs.ItemThought: "Thought", runs.ItemTool: "Tool",
	runs.ItemPlan: "Plan", runs.ItemTurn: "End of turn", runs.ItemOther: "Other",
}

// transcript shows the first and the last items, and the last message of the agent on its own.
func (p *page) transcript() {
	s := p.source
	first, last := ends(len(s.items), p.limits.items)
	result := s.result()
	for i := range s.items {
		if i == result {
			r := p.message(s.items[i], 4*p.limits.text, true)
			p.Result = &r
		}
		if i >= first && i < last {
			if i == first {
				p.ItemsLeft = fmt.Sprintf("%d of %d items are left out here; %s has all.", last-first, len(s.items), runs.EventsName)
				p.Items = append(p.Items, entry{Kind: "gap", Label: p.ItemsLeft})
			}
			continue
		}
		p.Items = append(p.Items, p.item(s.items[i]))
	}
	if prompt, err := s.run.ReadFile(runs.PromptName, maxDocument); err == nil {
		t := plain(string(prompt), p.limits.text, runs.PromptName)
		p.Prompt = &t
	}
	for _, f := range s.reports {
		e := entry{Name: line(f.Name, 200)}
		if f.Err != nil {
			e.Text = text{Note: "Not shown: " + f.Err.Error() + "."}
		} else {
			e.Text = start(string(f.Data), 4*p.limits.text, line(f.Path, 200))
			e.HTML = s.markdown(e.Text.Text, style{marked: true})
		}
		p.Reports = append(p.Reports, e)
	}
}

// ends are the bounds of what is left out in the middle of n things, so that most remain.
func ends(n, most int) (first, last int) {
	if n <= most {
		return n, n
	}
	return most - most/2, n - most/2
}

func place(i runs.Item) string { return fmt.Sprintf("%s, from event %d on", runs.EventsName, i.Seq) }

func (p *page) message(i runs.Item, limit int, mark bool) entry {
	e := entry{Kind: i.Kind, Label: labels[i.Kind], Time: p.clock(i.Time), Text: start(i.Text, limit, place(i))}
	e.HTML = p.source.markdown(e.Text.Text, style{marked: mark, lines: true})
	return e
}

// clock is a time since the start of the run.
func (p *page) clock(t time.Time) string {
	d := t.Sub(p.source.Started).Round(time.Second)
	if d < 0 || d > 1000*time.Hour {
		return ""
	}
	return fmt.Sprintf("%d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
}

func (p *page) item(i runs.Item) entry {
	switch i.Kind {
	case runs.ItemMessage:
		return p.message(i, p.limits.text, false)
	case runs.ItemTool:
		return p.tool(i)
	}
	e := entry{Kind: i.Kind, Label: labels[i.Kind], Time: p.clock(i.Time), Text: plain(i.Text, p.limits.text, place(i))}
	if i.Kind == runs.ItemThought || i.Kind == runs.ItemOther {
		e.Name = line(i.Text, 90)
	}
	for _, step := range i.Plan[:min(len(i.Plan), 100)] {
		e.Plan = append(e.Plan, runs.PlanEntry{Content: line(step.Content, 500), Priority: line(step.Priority, 20), Status: line(step.Status, 20)})
	}
	return e
}

func (p *page) tool(i runs.Item) entry {
	t := i.Tool
	e := entry{Kind: i.Kind, Label: "Tool", Time: p.clock(i.Time), Name: line(cmp.Or(t.Title, t.Kind, t.ID), 120), State: line(t.Status, 20)}
	if took := i.Ended.Sub(i.Time).Seconds(); took > 0 {
		e.State = strings.TrimSpace(e.State + " " + seconds(took))
	}
	e.Input = plain(asJSON(t.Input), p.limits.text, place(i))
	output := t.Text
	if output == "" {
		output = asJSON(t.Output)
	}
	e.Text = plain(output, p.limits.text, place(i))
	return e
}

func asJSON(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

func (p *page) outputs() {
	left := p.limits.items
	for _, n := range p.source.notebooks {
		shown := shownNotebook{Name: line(n.Name, 200), Language: line(n.Language, 40)}
		if n.Err != nil {
			shown.Note = "Not shown: " + line(n.Err.Error(), 300)
		}
		for i, c := range n.Cells {
			if left == 0 {
				shown.Note = fmt.Sprintf("%d of %d cells are here; the whole is in %s.", i, len(n.Cells), line(n.Path, 200))
				break
			}
			left--
			shown.Cells = append(shown.Cells, p.cell(c, line(n.Path, 200)))
		}
		p.Notebooks = append(p.Notebooks, shown)
	}
	for _, f := range p.source.figures {
		shown := figure{Name: line(f.Name, 200)}
		if f.Err != nil {
			shown.Note = "Not shown: " + f.Err.Error() + "."
		} else {
			shown.Image, shown.Note = p.image(images[strings.ToLower(f.Path[strings.LastIndexByte(f.Path, '.'):])], f.Data, "Figure "+shown.Name)
		}
		p.Figures = append(p.Figures, shown)
	}
}

// calls shows the first calls: all but those of a very long run.
func (p *page) calls() {
	s := p.source
	n := min(len(s.calls), p.limits.items)
	for i := range s.calls[:n] {
		c := &s.calls[i]
		shown := shownCall{call: c, Name: line(c.Service+"."+c.Function, 120), Took: seconds(c.Seconds), Items: len(c.Entry.Items), Status: line(string(c.State), 20), Class: class(c.State), Facts: c.facts()}
		shown.ShownArguments = plain(indented(c.Arguments.Text), p.limits.text, c.Arguments.Where)
		shown.ShownResult = plain(indented(c.Result.Text), p.limits.text, c.Result.Where)
		shown.ShownOut = plain(carriage(c.Output.Text), p.limits.text, c.Output.Where)
		shown.Brief = line(c.Result.Text, 40)
		if c.Error != nil {
			shown.Brief = line(c.Error.Error(), 40)
			shown.Failure = plain(cmp.Or(c.Error.Traceback, c.Error.Error()), p.limits.text, "record/calls.jsonl")
		}
		p.Calls = append(p.Calls, shown)
	}
	if n < len(s.calls) {
		p.CallsLeft = fmt.Sprintf("The first %d of %d calls are here; record/calls.jsonl has all.", n, len(s.calls))
	}
	p.Timeline = s.timeline(p.Calls, s.requests)
}

// facts are what the record says of a call in few words.
func (c *call) facts() []fact {
	all := []fact{{"Call", line(c.ID, 100)}, {"Code", line(c.CodeHash, 100)}, {"Seed", line(string(c.Seed), 40)}}
	for _, m := range c.Models[:min(len(c.Models), 20)] {
		all = append(all, fact{"Model", line(m.Name+" "+m.Revision, 200)})
	}
	for _, m := range c.Datasets[:min(len(c.Datasets), 20)] {
		all = append(all, fact{"Dataset", line(m.Name+" "+m.Revision, 200)})
	}
	return slices.DeleteFunc(all, func(f fact) bool { return strings.TrimSpace(f.Value) == "" })
}
