package doctor

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/agent/driver"
	"github.com/seer-engine/seer/engine/agent/mockmodel"
)

// handleOf takes the handle from an answer.
var handleOf = map[string]*regexp.Regexp{"handle": regexp.MustCompile(`\b(h-\w+)`)}

// lingering is less than the time after which a run ends a program whose turn has ended.
const lingering = 9 * time.Second

// always repeats a fault for every request.
const always = math.MaxInt32

// try runs the program three times: to its end, until it is stopped, and with a model that fails.
func (p *patient) try(ctx context.Context) error {
	works, err := p.work(ctx)
	if err != nil || !works {
		return err
	}
	if err := p.stop(ctx); err != nil {
		return err
	}
	if err := p.fail(ctx); err != nil {
		return err
	}
	switch {
	case p.unwatched != nil:
		p.add(Processes, Skipped, "processes cannot be told on this system", "")
	case len(p.left) > 0:
		p.add(Processes, Failed, "it left "+strings.Join(p.left, ", ")+", which the doctor has killed",
			"confine it, with agent.isolation: bubblewrap or gvisor, which end everything that it starts")
	default:
		p.add(Processes, OK, "nothing was left after three runs", "")
	}
	return nil
}

// work makes the program use everything once. It reports whether the program works with its model.
func (p *patient) work(ctx context.Context) (bool, error) {
	p.opts.Progress(p.report.Title, "at work")
	t, err := p.newTrial()
	if err != nil {
		return false, err
	}
	defer t.remove()
	t.script = &mockmodel.Script{End: t.last, Turns: []mockmodel.Turn{
		{Call: "trial_answer", With: map[string]any{"word": "w"}},
		{Call: "trial_numbers", With: map[string]any{"count": count}, Take: handleOf},
		{Call: "trial_total", With: map[string]any{"numbers": map[string]any{"handle": "${handle}"}}},
		{Call: "trial_slow"},
		{Say: "The last word is " + t.last + "."},
	}}
	if err := t.run(ctx); err != nil {
		return false, err
	}
	if err := cancelled(ctx); err != nil {
		return false, err
	}
	p.report.Isolation = t.confined
	if len(t.requests) == 0 {
		p.add(Starts, Failed, "it never asked its model: "+t.conclusion()+t.printed(),
			"look at what it prints; another version may work, or its profile leads it to no model")
		return false, nil
	}
	p.add(Starts, OK, fmt.Sprintf("it asked its model after %s", seconds(t.requests[0].Time.Sub(t.running))), "")
	p.judgePrompt(t)
	p.judgeTools(t)
	p.judgeEnd(t)
	p.judgeConfiguration(t)
	return true, nil
}

func (p *patient) judgePrompt(t *trial) {
	if t.arrived(t.word) {
		p.add(Prompt, OK, "a word of the prompt arrived at the model", "")
		return
	}
	p.add(Prompt, Failed, fmt.Sprintf("no word of the prompt is in its %d requests to the model", len(t.requests)),
		"have its profile hand the prompt over, by the driver or by .Prompt or .PromptFile")
}

// judgeTools judges the tools in the order in which the script uses them.
func (p *patient) judgeTools(t *trial) {
	name := ""
	for _, e := range t.requests {
		if e.Call != "" && name == "" {
			name = e.Call
		}
	}
	if name == "" {
		p.add(Servers, Failed, fmt.Sprintf("its %d requests offer the model no tool of the MCP server%s", len(t.requests), t.broken),
			"have its profile hand the servers over, by .MCPFile or .Servers, and wait until they have started")
		return
	}
	p.add(Servers, OK, "it offers the model "+name, "")
	if _, ok := t.answered("w-" + t.secret); !ok {
		p.add(Tools, Failed, "the call of "+name+" did not reach its function"+t.firstAnswer(),
			"have its profile allow all tools without a question")
		return
	}
	p.add(Tools, OK, "the answer of a function arrived at the model", "")
	if _, ok := t.answered(t.sum()); ok {
		p.add(Handles, OK, fmt.Sprintf("a list of %d numbers went from one function to another by its handle", count), "")
	} else {
		p.add(Handles, Failed, "the result of a function did not come back as an argument",
			"set handle_above in the options of served files so high that results are no handles")
	}
	_, over := t.answered("slow-" + t.secret)
	switch {
	case over && handedOver(t):
		p.add(LongCall, OK, "a call that took 3 s went on after its tool had waited 1 s, and its result arrived", "")
	case over:
		p.add(LongCall, Failed, "the result arrived, but the call was not handed over after 1 s", "report this as a defect of Seer")
	default:
		p.add(LongCall, Failed, "the result of a call that took 3 s never arrived: "+t.conclusion(),
			"set wait in the options of served files to more than your calls take")
	}
}

// handedOver reports whether an answer tells the model how to wait for a call.
func handedOver(t *trial) bool {
	for _, e := range t.requests {
		if strings.HasSuffix(e.Call, "call-result") || strings.HasSuffix(e.Call, "call_result") {
			return true
		}
	}
	return false
}

// firstAnswer is the result of the first call as the program passed it to its model.
func (t *trial) firstAnswer() string {
	for _, a := range t.answers() {
		return fmt.Sprintf(": it answered %.200q", a.Text)
	}
	return ": " + t.conclusion()
}

func (p *patient) judgeEnd(t *trial) {
	heard := strings.Contains(t.said.String(), t.last)
	switch {
	case t.err != nil || t.result.ExitCode != 0 || t.ended == nil || t.ended.Reason != driver.EndTurn:
		p.add(Ends, Failed, t.conclusion(), "look at what it prints; runs with it count as failed")
	case !heard:
		p.add(Ends, Failed, "it ended its turn, but did not say the last word of its model",
			"check the driver of its profile: the transcript of runs lacks what it says")
	case t.endedAt.Sub(t.heard) >= lingering:
		p.add(Ends, OK, fmt.Sprintf("it said the last word of its model, but its program went on for %s and was ended", seconds(t.endedAt.Sub(t.heard))), "")
	default:
		p.add(Ends, OK, "it said the last word of its model and ended with exit code 0", "")
	}
}

func (p *patient) judgeConfiguration(t *trial) {
	remedy := "have its profile turn its own configuration off"
	if t.confined == "none" {
		remedy = "confine it, with agent.isolation: bubblewrap or gvisor"
	}
	var seen []string
	if t.arrived(t.canary) {
		seen = append(seen, "instructions in a folder above its workspace")
	}
	mine := own(p.sources.Getenv("HOME"))
	for _, path := range slices.Sorted(maps.Keys(mine)) {
		if t.arrived(mine[path]) {
			seen = append(seen, path)
		}
	}
	if len(seen) > 0 {
		p.add(Configuration, Failed, "its model got "+strings.Join(seen, ", "), remedy)
		return
	}
	detail := "instructions above its workspace did not arrive at the model"
	if len(mine) > 0 {
		var names []string
		for _, path := range slices.Sorted(maps.Keys(mine)) {
			names = append(names, filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path))
		}
		detail += ", and neither did your " + strings.Join(names, ", ")
	}
	p.add(Configuration, OK, detail, "")
}

// stop stops the program while it waits for its model.
func (p *patient) stop(ctx context.Context) error {
	p.opts.Progress(p.report.Title, "being stopped")
	t, err := p.newTrial()
	if err != nil {
		return err
	}
	defer t.remove()
	t.script = &mockmodel.Script{End: t.last, Turns: []mockmodel.Turn{
		{Say: t.last, Fault: &mockmodel.Fault{Times: always, Hang: 2 * p.opts.Timeout}},
	}}
	if p.passed(Tools) { // stop the program in the middle of its work
		t.script.Turns = append([]mockmodel.Turn{{Call: "trial_answer", With: map[string]any{"word": "w"}}}, t.script.Turns...)
	}
	stopping, cancel := context.WithCancel(ctx)
	defer cancel()
	t.stopAt, t.stop = len(t.script.Turns)-1, cancel
	if err := t.run(stopping); err != nil {
		return err
	}
	if err := cancelled(ctx); err != nil {
		return err
	}
	took := t.endedAt.Sub(t.stopped)
	switch {
	case t.stopped.IsZero():
		p.add(Stops, Skipped, "it did not get as far as to be stopped: "+t.conclusion(), "")
	case took >= p.opts.Grace:
		p.add(Stops, Failed, fmt.Sprintf("it went on for %s after SIGTERM and was killed", p.opts.Grace),
			"nothing, if a killed agent is good enough: its results are collected all the same")
	default:
		p.add(Stops, OK, fmt.Sprintf("it ended %s after SIGTERM, in the middle of a request to its model", seconds(took)), "")
	}
	return nil
}

// fail runs the program with a model that refuses each request.
func (p *patient) fail(ctx context.Context) error {
	p.opts.Progress(p.report.Title, "with a model that fails")
	t, err := p.newTrial()
	if err != nil {
		return err
	}
	defer t.remove()
	t.script = &mockmodel.Script{End: t.last, Turns: []mockmodel.Turn{
		{Say: t.last, Fault: &mockmodel.Fault{Times: always, Status: http.StatusBadRequest}},
	}}
	if err := t.run(ctx); err != nil {
		return err
	}
	if err := cancelled(ctx); err != nil {
		return err
	}
	const remedy = "look at the agent.model_request events of a run, because its exit code does not tell a failure"
	switch {
	case len(t.requests) == 0:
		p.add(Failure, Skipped, "it did not ask its model: "+t.conclusion(), "")
	case t.err != nil:
		p.add(Failure, Failed, t.conclusion(), "set agent.timeout in experiments with it")
	case t.result.ExitCode == 0:
		p.add(Failure, Failed, "it ended with exit code 0, although its model refused all requests with status 400", remedy)
	default:
		p.add(Failure, OK, t.conclusion(), "")
	}
	return nil
}

func (p *patient) passed(check string) bool {
	return slices.ContainsFunc(p.report.Findings, func(f Finding) bool { return f.Check == check && f.State == OK })
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
