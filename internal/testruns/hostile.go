package testruns

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/record"
	"github.com/seer-engine/seer/engine/runs"
	"github.com/seer-engine/seer/internal/testkit"
)

// Attack is a text that acts in a page that does not escape it.
const Attack = `<script>window.acted=1</script><img src=x onerror="window.acted=1"></pre></style><svg onload="window.acted=1">` +
	`<a href="javascript:window.acted=1" id="call-c1">x</a>[x](javascript:window.acted=1)![i](https://evil.example/i.png)` +
	"<https://evil.example>\n\n[call:c1]: javascript:window.acted=1\n\n<div onclick=window.acted=1>\x1b]8;;https://evil.example\x07link\x1b]8;;\x07\x1b[2J\u202egnp.exe\u2066 &#x202e; {{.}} ${x}"

// AttackSVG is a drawing with script, handlers and a request.
const AttackSVG = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="40" height="40" onload="parent.acted=1">` +
	`<script>parent.acted=1</script><image xlink:href="https://evil.example/x.png"/><foreignObject><iframe src="https://evil.example"/></foreignObject></svg>`

// SlowSVG takes exponentially long to draw.
const SlowSVG = `<svg xmlns="http://www.w3.org/2000/svg"><g id="a"><rect width="1" height="1"/></g><g id="b"><use href="#a"/><use href="#a"/></g><g id="c"><use href="#b"/><use href="#b"/></g></svg>`

// Hostile is a run in which everything that others write is an attack.
func Hostile(root string) (*runs.Run, error) {
	r, err := New(root)
	if err != nil {
		return nil, err
	}
	r.Send(
		event.RunStarted{Experiment: Attack, File: Attack, Version: Attack, SHA256: Attack},
		event.RunPlugin{ID: Attack, Version: Attack, SHA256: Attack},
		event.RunModel{Name: Attack, Source: Attack, Repo: Attack, Revision: Attack, License: Attack, Gate: Attack, Manifest: Attack},
		event.RunCode{Name: Attack, CodeHash: Attack},
		event.RunPackages{Sandbox: Attack, Python: Attack, Packages: []event.Package{{Name: Attack, Version: Attack, SHA256: Attack}}},
		event.AgentProgram{Provider: Attack, Path: Attack, Version: Attack, SHA256: Attack, Model: Attack},
		event.AgentWarning{Message: Attack},
		event.ModelRequest{Model: Attack, Error: Attack, Status: -1, Input: -5, Cost: 1e300, Seconds: -1e300},
	)
	attack, err := json.Marshal(Attack)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{runs.PromptName, runs.ExperimentName, runs.ResolvedName} {
		r.File(name, []byte(Attack))
	}
	r.File(runs.RunName, bytes.ReplaceAll([]byte(`{"calls":X,"hidden_names":[{"where":X}]}`), []byte("X"), attack))
	r.Say("agent_thought_chunk", Attack)
	r.Say("agent_message_chunk", strings.Repeat("A huge text. ", hugeText()/13))
	r.Tool("huge", strings.Repeat("huge ", 1000), map[string]any{"text": strings.Repeat("x", 1<<20)}, strings.Repeat("y", 1<<20))
	r.Update("plan", map[string]any{"entries": []any{map[string]any{"content": Attack, "priority": Attack, "status": Attack}}})
	r.Update("something_new", map[string]any{"text": Attack})
	r.Update("tool_call", map[string]any{"toolCallId": Attack, "title": Attack, "kind": Attack, "status": Attack, "rawInput": Attack})
	for _, id := range []string{"c1", "twice", "twice", `"><b id="x">`, Attack, ""} {
		r.Call(record.Entry{
			ID: id, Service: Attack, Function: Attack, State: protocol.CallState(Attack), CodeHash: Attack, Token: Attack,
			Error: &protocol.CallError{Type: Attack, Message: Attack, Traceback: Attack}, Seed: attack, Started: -1e308, Ended: 1e308, Seconds: 1e308,
		}, string(attack), string(attack))
	}
	r.Output("<b>.svg", []byte(AttackSVG))
	r.Output("slow.svg", []byte(SlowSVG))
	r.Output("no.png", []byte(AttackSVG))
	r.Output("wide.png", wide())
	r.Output("x.md", []byte(Attack))
	r.Output("x.ipynb", hostileNotebook())
	r.Send(event.RunArtifact{Path: "/etc/hostname.md", Kind: "output", SHA256: "00"}, event.RunArtifact{Path: "../../secret.md", Kind: "output"})
	r.Say("agent_message_chunk", Attack+"\n\n[call:twice] [call:c1] [call:x]\n\n"+strings.Repeat("> ", 3000)+"deep\n\n"+strings.Repeat("[", 3000)+strings.Repeat("*_", 3000))
	return r.End(runs.Failed, Attack)
}

// wide is a PNG of few bytes that says it has 4 × 10⁹ pixels.
func wide() []byte {
	data := Picture(80, 40)
	copy(data[16:24], []byte{0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff})
	return data
}

func hostileNotebook() []byte {
	data := map[string]any{"text/html": Attack, "image/svg+xml": []string{AttackSVG}, "image/png": Attack, "text/plain": Attack, "application/javascript": "window.acted=1"}
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"language_info": map[string]any{"name": Attack}}, "cells": []any{
		map[string]any{"cell_type": "markdown", "source": Attack},
		map[string]any{"cell_type": "raw", "source": Attack},
		map[string]any{"cell_type": "code", "source": Attack, "outputs": []any{
			map[string]any{"output_type": "stream", "name": Attack, "text": Attack + strings.Repeat("z", 1<<20)},
			map[string]any{"output_type": "display_data", "data": data},
			map[string]any{"output_type": "display_data", "data": map[string]any{"text/html": Attack}},
			map[string]any{"output_type": "display_data", "data": map[string]any{"image/png": base64.StdEncoding.EncodeToString(wide())}},
			map[string]any{"output_type": "error", "ename": Attack, "evalue": Attack, "traceback": []string{Attack}},
		}},
	}})
	if err != nil {
		panic(err) // of values that are all here
	}
	return text
}

// Empty is a run in which nothing happened.
func Empty(root string) (*runs.Run, error) { return short(root, runs.Finished, "") }

// Interrupted is a run whose program was killed.
func Interrupted(root string) (*runs.Run, error) { return short(root, "", "") }

// Stopped is a run that its user stopped.
func Stopped(root string) (*runs.Run, error) {
	return short(root, runs.Stopped, "stopped by the user")
}

// Failed is a run whose agent could not go on.
func Failed(root string) (*runs.Run, error) {
	return short(root, runs.Failed, "the agent's language model refused the key")
}

func short(root string, state runs.State, failure string) (*runs.Run, error) {
	r, err := New(root)
	if err != nil {
		return nil, err
	}
	if failure != "" {
		r.Say("agent_message_chunk", "I begin.")
	}
	return r.End(state, failure)
}

// hugeText is the size of a text that no page can have as it is.
func hugeText() int {
	if testkit.Race {
		return 5 << 20
	}
	return 50 << 20
}
