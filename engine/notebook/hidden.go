package notebook

import (
	"context"
	"errors"
	"fmt"
)

// RunHidden runs code in the kernel that is prepared for the next notebook, or in the first one
// where none is, without a cell. It returns what the code prints.
func (c *Client) RunHidden(ctx context.Context, code string) (string, error) {
	sessions, err := c.Sessions(ctx)
	if err != nil {
		return "", err
	}
	if len(sessions) == 0 {
		return "", errors.New("there is no kernel")
	}
	in := sessions[0]
	for _, s := range sessions {
		if s.State == SessionPrepared {
			in = s
		}
	}
	run, err := c.AddCell(ctx, in.ID, NewCell{Type: "code", Source: code, Run: true, Hidden: true})
	if err != nil {
		return "", err
	}
	if run.Execution == nil {
		return "", errors.New("the kernel did not run the code")
	}
	done, err := c.Wait(ctx, run.Execution.ID)
	if err != nil {
		return "", err
	}
	if done.Error != nil {
		return "", fmt.Errorf("%s: %s", done.Error.EName, done.Error.EValue)
	}
	text, _, err := c.Text(ctx, done.ID, 0, done.TextBytes)
	return string(text), err
}
