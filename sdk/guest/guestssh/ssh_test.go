package guestssh

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/internal/call"
	"github.com/seer-engine/seer/sdk/guest/internal/stream"
	"github.com/seer-engine/seer/sdk/guest/internal/stream/streamtest"
)

func client(t *testing.T, host func(*streamtest.Exchange)) Client {
	t.Helper()
	h := streamtest.New(t)
	h.SSH = host
	return Client{pump: stream.New(h, &call.Calls{})}
}

// cat answers with what it is sent, and its arguments on standard error.
func cat(x *streamtest.Exchange) {
	if x.SSH.Body && !x.Echo() {
		return
	}
	x.End(sdk.Event{Code: 3, Message: x.SSH.Host + ": " + strings.Join(x.SSH.Argv, " ")}, nil)
}

func TestRun(t *testing.T) {
	t.Parallel()
	c := client(t, cat)
	for _, stdin := range [][]byte{nil, []byte("a line\n"), bytes.Repeat([]byte("0123456789abcdef"), 1<<18)} {
		r, err := c.Run(t.Context(), "box", []string{sdk.SSHProgram, "provider", "list"}, stdin)
		if err != nil || !bytes.Equal(r.Stdout, stdin) || r.Code != 3 || r.Stderr != "box: {seer-runtime} provider list" {
			t.Errorf("%d bytes: %d came back, %d %q %v", len(stdin), len(r.Stdout), r.Code, r.Stderr, err)
		}
	}
}

func TestRunFails(t *testing.T) {
	t.Parallel()
	refused := client(t, func(x *streamtest.Exchange) {
		x.End(sdk.Event{Error: sdk.Errorf(sdk.NotFound, "there is no host bix")}, nil)
	})
	if _, err := refused.Run(t.Context(), "bix", []string{"true"}, nil); sdk.CodeOf(err) != sdk.NotFound {
		t.Errorf("a host that there is not: %v", err)
	}
	if _, err := client(t, nil).Run(t.Context(), "box", []string{"true"}, nil); sdk.CodeOf(err) != sdk.Unauthorized {
		t.Errorf("without a permission: %v", err)
	}
	silent := client(t, func(x *streamtest.Exchange) { <-x.Gone() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := silent.Run(ctx, "box", []string{"sleep", "60"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}
