package shell

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/internal/clients"
	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/mcp/internal/task"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/repl"
)

// allText is more than what is kept of all texts of a job.
const allText = 8 * repl.MaxOutput

// job is something that runs in the sandbox and that this server follows: a process, or
// a piece of code in the interpreter. It is safe for concurrent use.
type job struct {
	*task.Tracker
	id     string                                     // p-… of a process, x-… of code
	title  string                                     // for the client's log
	result func(j *job, room int) *mcp.CallToolResult // for answer, which calls it within View

	stdout repl.Clip
	stderr repl.Clip
	end    *protocol.Process // of a process, once its end was seen
	code   *repl.Run         // of code
	err    error             // it could not be followed, or not be started
	images []mcp.Content     // of code that has ended

	cancel func(context.Context) error // ends it in the sandbox
	drop   func()                      // ends the following of code that will not begin
}

func newJob(id, title string, started time.Time) *job {
	return &job{Tracker: task.NewTracker(started), id: id, title: title}
}

// answer is what there is of a job, done or not, with about room bytes of text.
func (j *job) answer(room int) (r *mcp.CallToolResult) {
	j.View(func() { r = j.result(j, room) })
	return r
}

// seconds is how long it has run, or ran. It is called within View.
func (j *job) seconds() float64 { return j.Elapsed().Round(time.Millisecond).Seconds() }

// jobWriter takes one stream of a job.
type jobWriter struct {
	j  *job
	to *repl.Clip
}

func (w jobWriter) Write(data []byte) (int, error) {
	w.j.Update(func() {
		_, _ = w.to.Write(data)
		w.j.Screen.Write(string(data))
	})
	return len(data), nil
}

// waitForResult waits for a job on behalf of a client, which is kept informed. It answers with
// the result, or after a while with what there is: the job goes on. With own, a request
// that is cancelled ends the job.
func (s *server) waitForResult(ctx context.Context, req *mcp.CallToolRequest, j *job, wait time.Duration, own bool) *mcp.CallToolResult {
	if task.Wait(ctx, req, j.title, j, j.Done(), wait) || ctx.Err() == nil {
		return clients.Fit(j.answer(clients.TextOf(req.Session, allText)), req.Session)
	}
	if own && task.Cancelled(ctx) {
		s.wg.Go(func() {
			end, stop := context.WithTimeout(s.ctx, time.Minute)
			defer stop()
			if err := j.cancel(end); err != nil {
				s.log.Warn("could not end the cancelled work", "id", j.id, "error", err)
			}
		})
	}
	return reply.Problem(j.id + ": the request was cancelled")
}

// keptJobs is how many that have ended are remembered here. The sandbox itself
// remembers processes for an hour.
const keptJobs = 200

// followed is the job of that ID, unless it could not be followed to its end.
func (s *server) followed(id string) *job {
	j, _ := s.jobs.Get(id)
	if j == nil || j.code == nil && j.Ended() && j.err != nil {
		return nil
	}
	return j
}
