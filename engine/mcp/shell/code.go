package shell

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/repl"
	"github.com/seer-engine/seer/engine/sanitize"
)

// clipText is what was kept, without colours and at most about n bytes of it; whole says
// where all of it is.
func clipText(c *repl.Clip, n int, whole string) string {
	head, tail, omitted := c.Parts()
	if omitted == 0 {
		return reply.CutMiddle(plain(head+tail), n, whole)
	}
	head, tail = plain(head), plain(tail)
	first, last := reply.Cut(head, n/2), reply.Tail(tail, n-n/2)
	return reply.Joined(first, last, omitted+int64(len(head)-len(first)+len(tail)-len(last)), whole)
}

// share divides what an answer may have among its texts: the short ones are whole.
func share(room int, texts ...*repl.Clip) []int {
	parts, open := make([]int, len(texts)), len(texts)
	for open > 0 {
		each, before := room/open, open
		for i, c := range texts {
			head, tail, _ := c.Parts()
			if size := len(head) + len(tail); parts[i] == 0 && size <= each {
				parts[i], room, open = max(3*size, 1), room-size, open-1 // what is no text grows when it is made one
			}
		}
		if open == before { // nobody needs less than the same for all
			for i := range parts {
				if parts[i] == 0 {
					parts[i] = max(each, 1)
				}
			}
			break
		}
	}
	return parts
}

// plain is text as it can be sent.
func plain(text string) string {
	pieces := strings.Split(text, "\x00") // which stays: it is between the names of `find -print0`
	for i := range pieces {
		pieces[i] = sanitize.Strip(pieces[i])
	}
	return strings.Join(pieces, "\x00")
}

// lastInterpreter is the one that this server has used.
type lastInterpreter struct {
	mu    sync.Mutex
	nonce string
}

// changed notes the one that is used now, and reports whether it is another than before.
func (l *lastInterpreter) changed(nonce string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	other := l.nonce != "" && l.nonce != nonce
	l.nonce = nonce
	return other
}

// interruptGrace is how long code has to end after an interrupt. Then its interpreter is
// killed.
const interruptGrace = 5 * time.Second

// interrupt ends code: takes it back if it has not begun, else interrupts it.
func interrupt(ctx context.Context, c *client.Client, i repl.Interpreter, j *job) error {
	taken, err := i.Withdraw(ctx, c, j.id)
	switch {
	case err != nil:
		return err
	case taken:
		j.code.Set(func() { j.code.Status = repl.Interrupted })
		j.drop()
		return nil
	}
	if err := i.Interrupt(ctx, c, j.id); err != nil {
		return err
	}
	if ended, err := j.ends(ctx); ended || err != nil {
		return err
	}
	if killed, err := i.Kill(ctx, c, j.id); killed || err != nil {
		return err
	}
	if ended, err := j.ends(ctx); ended || err != nil {
		return err
	}
	return errDeaf
}

// ends waits for the end of code as long as an interrupt may take.
func (j *job) ends(ctx context.Context) (bool, error) {
	select {
	case <-j.Done():
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	case <-time.After(interruptGrace):
		return false, nil
	}
}

// errDeaf is of code that has removed the folder in which it is said that it runs: what is
// killed for it could be the code of others.
var errDeaf = errors.New("cannot identify the running code: its marker files were deleted; use restart, which ends it and loses all variables")
