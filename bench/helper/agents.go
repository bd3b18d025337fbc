package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/agent/driver"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/runs"
)

// say is a program that prints each line of a file by a write of its own, as an agent does.
func say(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		if _, err := os.Stdout.WriteString(line); err != nil {
			return err
		}
	}
	return nil
}

// hear is how long a message of such a program takes to arrive: through the driver that understands
// it, or line by line.
func hear(ctx context.Context, r request) (any, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var all samples
	for range max(1, r.Count) {
		cmd := exec.CommandContext(ctx, self, "say", r.File)
		stdin, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		begin := time.Now()
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		messages, err := heard(ctx, r, stdin, stdout)
		if err := errors.Join(err, cmd.Wait()); err != nil {
			return nil, err
		}
		if messages == 0 {
			return nil, errors.New("no message has arrived")
		}
		all.Samples = append(all.Samples, time.Since(begin).Seconds()/float64(messages))
	}
	return all, nil
}

func heard(ctx context.Context, r request, stdin io.WriteCloser, stdout io.Reader) (messages int, err error) {
	if r.Direct {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if strings.Contains(lines.Text(), `"text":"word `) {
				messages++
			}
		}
		return messages, lines.Err()
	}
	_, err = driver.Run(ctx, r.Driver, stdin, stdout, driver.Task{}, func(u driver.Update) {
		if u.Update["sessionUpdate"] == "agent_message_chunk" {
			messages++
		}
	})
	return messages, err
}

// recorded makes the folder of a run of count messages, each with a tool call.
func recorded(_ context.Context, r request) (any, error) {
	folder, err := runs.Create(r.Dir, "bench", "run-0123456789abcdef", time.Now())
	if err != nil {
		return nil, err
	}
	report := event.NewReporter(folder.ID(), event.SourceEngine, time.Now, folder.Append)
	report.Send(event.RunStarted{Experiment: "bench", Folder: folder.Path()})
	report.Send(event.AgentProgram{Provider: "claude", Path: "/usr/bin/claude"})
	for i := range r.Count {
		id := fmt.Sprint("t", i)
		for _, update := range []map[string]any{
			{"sessionUpdate": "agent_message_chunk", "messageId": id, "content": text(strings.Repeat("A message of some words, as agents write them. ", 4))},
			{"sessionUpdate": "tool_call", "toolCallId": id, "title": "Bash", "kind": "execute", "rawInput": map[string]any{"command": "ls " + id}},
			{"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed", "content": []any{map[string]any{"type": "content", "content": text("answer.json")}}},
		} {
			report.Send(event.AgentUpdate{Update: update})
		}
	}
	report.Send(event.AgentTurnEnded{Reason: driver.EndTurn})
	report.Send(event.RunEnded{State: string(runs.Finished)})
	return map[string]string{"folder": filepath.Clean(folder.Path())}, folder.Close()
}

func text(text string) map[string]any { return map[string]any{"type": "text", "text": text} }
