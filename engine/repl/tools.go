package repl

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
)

// ErrEnough is how a writer says that it has all that it wants.
var ErrEnough = errors.New("enough")

const (
	// MaxImages is how many images of one piece of code are kept.
	MaxImages = 20
	// MaxImage is the size beyond which an image is not fetched.
	MaxImage = 1 << 20

	// MaxText is what [Execute] returns at most.
	MaxText = 64 << 20

	killPatience = 10 * time.Second
)

func newID() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// kill ends a process and waits until it is gone.
func kill(ctx context.Context, c *client.Client, id string) error {
	if err := c.Processes().Signal(ctx, id, "KILL"); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, killPatience)
	defer stop()
	for {
		p, err := c.Processes().Get(ctx, id)
		if protocol.CodeOf(err) == protocol.NotFound || err == nil && p.State == protocol.ProcessExited {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return errors.New("the interpreter " + id + " does not end")
		}
	}
}

// limited keeps what is written to it, up to [MaxImage].
type limited []byte

func (l *limited) Write(data []byte) (int, error) {
	if len(*l)+len(data) > MaxImage {
		return 0, ErrEnough
	}
	*l = append(*l, data...)
	return len(data), nil
}

// text keeps what is written to it, up to [MaxText].
type text []byte

func (t *text) Write(data []byte) (int, error) {
	*t = append(*t, data[:min(len(data), MaxText-len(*t))]...)
	return len(data), nil
}
