package notebook

import (
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/internal/reply"
)

// inTools says with the tools' names what the service says with its HTTP calls, which an
// agent cannot make.
func inTools(text string) string {
	for _, w := range []struct{ call, tool string }{
		{`POST …/sessions with mode new takes it`, `start_new_session takes it`},
		{`GET …/sessions lists`, `list_sessions lists`},
		{`POST …/restart starts`, `The tool restart starts`},
		{`read GET …/executions/([^/\s]+)/text, and the outputs of the cell`, `read the resource ` + executionsURI + `$1/text, and the outputs of the cell with read_notebook`},
	} {
		text = regexp.MustCompile(w.call).ReplaceAllString(text, w.tool)
	}
	return text
}

// told is an error in words for an agent.
type told struct{ err error }

func (t told) Error() string { return inTools(t.err.Error()) }
func (t told) Unwrap() error { return t.err }

// refusal is what the service did not do, in words for an agent.
func refusal(err error) *mcp.CallToolResult { return reply.Failure(told{err}) }
