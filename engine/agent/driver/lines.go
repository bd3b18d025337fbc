package driver

import "strings"

// lines is the parser of a program that reads its prompt and prints text.
type lines struct{ *speech }

func (p *lines) begin(t Task) {
	p.in.write([]byte(t.Prompt))
	p.in.close()
}

func (p *lines) cancel() { p.in.abandon() }

func (p *lines) line(text []byte) {
	p.update("agent_message_chunk", map[string]any{"content": content(strings.ToValidUTF8(string(text), "\uFFFD") + "\n")})
}

// last returns end_turn or cancelled: only the exit code of such a program states a failure.
func (p *lines) last(cancelled bool) *Outcome {
	if cancelled {
		return &Outcome{Reason: Cancelled}
	}
	return &Outcome{Reason: EndTurn}
}
