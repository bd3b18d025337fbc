package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// Snapshot saves the file system of a running sandbox at its provider and returns
// what [sdk.Image].Snapshot takes. A provider that cannot do it is an error of the
// code unsupported.
func (d *Driver) Snapshot(ctx context.Context, r Record, onEvent func(Event)) (string, error) {
	if onEvent == nil {
		onEvent = func(Event) {}
	}
	p, err := d.Providers(ctx, r.Provider)
	if err != nil {
		return "", fmt.Errorf("the provider %q: %w", r.Provider, err)
	}
	s, ok := p.(sdk.Snapshotter)
	if !ok {
		return "", sdk.Errorf(sdk.Unsupported, "the provider %s makes no snapshots", r.Provider)
	}
	tell := func(kind EventKind, text string) { onEvent(Event{Kind: kind, ID: r.ID, State: r.State, Text: text}) }
	again := &retrier{clock: d.Clock, limit: d.RetryTimeout, notify: func(op string, wait time.Duration, err error) {
		tell(EventRetry, fmt.Sprintf("%s: %v; trying again in %s", op, err, wait.Round(100*time.Millisecond)))
	}}
	deadline := d.Clock.Now().Add(d.StartTimeout)
	key := newKey()
	for cursor := json.RawMessage(nil); ; {
		step, err := repeat(ctx, again, "snapshot", func() (sdk.SnapshotStep, error) { return s.Snapshot(ctx, r.Handle, key, cursor) })
		if err != nil {
			return "", err
		}
		for _, line := range step.Log {
			tell(EventLog, line)
		}
		switch {
		case step.Image != "":
			return step.Image, nil
		case len(step.Cursor) == 0:
			return "", sdk.Errorf(sdk.Internal, "the provider %s gave neither an image nor a cursor", r.Provider)
		case d.Clock.Now().After(deadline):
			return "", sdk.Errorf(sdk.Unavailable, "the snapshot was not ready within %s", d.StartTimeout)
		}
		cursor = step.Cursor
		if err := d.Clock.Sleep(ctx, seconds(step.AfterSeconds)); err != nil {
			return "", err
		}
	}
}
