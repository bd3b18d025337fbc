package sdktest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seer-engine/seer/sdk"
)

const (
	maxCursor = 4 << 10 // bytes
	maxSteps  = 100
	maxPause  = 10 * time.Second
)

// creation drives Create as the engine does, one call at a time.
type creation struct {
	l      *lab
	spec   sdk.MachineSpec
	cursor json.RawMessage
	log    []string
	calls  int
	tries  int // in a row that failed in passing
}

// step makes one call with a new provider. It is over with a handle or an error that
// is no reason to call again.
func (c *creation) step(ctx context.Context) (handle string, over bool, err error) {
	c.calls++
	if c.calls > maxSteps {
		return "", true, defect{fmt.Sprintf("Create gave neither a handle nor an error in %d calls", maxSteps)}
	}
	step, err := c.l.open().Create(ctx, c.spec, c.cursor)
	if err != nil {
		c.tries++
		if !passing(err) || c.tries > 8 || ctx.Err() != nil {
			return "", true, err
		}
		return "", false, c.l.pause(ctx, max(retryAfter(err), 50*time.Millisecond))
	}
	c.tries = 0
	c.log = append(c.log, step.Log...)
	if step.Handle != "" {
		return step.Handle, true, nil
	}
	if err := checkCursor(step.Cursor); err != nil {
		return "", true, err
	}
	c.cursor = append(json.RawMessage(nil), step.Cursor...)
	return "", false, c.l.pause(ctx, seconds(step.AfterSeconds))
}

// finish goes on until there is a handle.
func (c *creation) finish(ctx context.Context) (string, error) {
	for {
		handle, over, err := c.step(ctx)
		if over || err != nil {
			return handle, err
		}
	}
}

// checkCursor is what the contract says about cursors.
func checkCursor(cursor json.RawMessage) error {
	switch {
	case len(cursor) == 0 || string(cursor) == "null":
		return defect{"Create gave neither a handle nor a cursor; what takes long returns a cursor that is not null"}
	case len(cursor) > maxCursor:
		return defect{fmt.Sprintf("the cursor has %d bytes; at most %d are meant: keep names, not content", len(cursor), maxCursor)}
	case !json.Valid(cursor):
		return defect{fmt.Sprintf("the cursor %s is not JSON", shorten(string(cursor)))}
	}
	return nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// pause waits for the backend, as the engine does, but not longer than a test can.
func (l *lab) pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	return l.kit.Sleep(ctx, min(d, maxPause))
}

// create rents a machine.
func (l *lab) create(ctx context.Context, spec sdk.MachineSpec) (string, error) {
	handle, err := (&creation{l: l, spec: spec}).finish(ctx)
	if err != nil {
		return "", fmt.Errorf("renting a machine: %s", describe(err))
	}
	return handle, nil
}

// live lists the machines of an owner that cost money, by the provider's word.
func (l *lab) live(ctx context.Context, owner string) ([]sdk.Listed, error) {
	var live []sdk.Listed
	all, err := l.open().List(ctx, owner)
	for _, m := range all {
		if m.State.Live() {
			live = append(live, m)
		}
	}
	return live, err
}

// end terminates what an owner has.
func (l *lab) end(ctx context.Context, t *trial, owner string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.patience())
	defer cancel()
	if _, err := sweep(ctx, l.open(), owner, l.kit.Sleep); err != nil {
		l.lost(ctx.Err() != nil)
		l.stuck.Add(1)
		t.failf("tidying up: %v", err)
	}
}

// patience is how long the kit waits for the backend. Where it has once waited in vain,
// it is short: a provider that is wrong everywhere is told so soon.
func (l *lab) patience() time.Duration {
	if l.late.Load() {
		return max(l.kit.BootTime/20, 50*time.Millisecond)
	}
	return l.kit.BootTime
}

func (l *lab) lost(late bool) {
	if late {
		l.late.Store(true)
	}
}

// until asks again and again, until done or until the time of a boot has passed.
func (l *lab) until(ctx context.Context, done func() (bool, error)) error {
	patience := l.patience()
	limit := time.Now().Add(patience)
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		ok, err := done()
		if ok || err != nil && !passing(err) {
			return err
		}
		if time.Now().After(limit) {
			l.lost(true)
			return fmt.Errorf("it has not happened within %v (see the kit's BootTime)%s", patience, because(err))
		}
		if err := l.pause(ctx, pause); err != nil {
			return err
		}
	}
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return ": " + describe(err)
}

// observe asks for one machine.
func (l *lab) observe(ctx context.Context, handle string) (sdk.Observation, error) {
	all, err := l.open().Observe(ctx, []string{handle})
	if err != nil {
		return sdk.Observation{}, err
	}
	if len(all) != 1 || all[0].Handle != handle {
		return sdk.Observation{}, fmt.Errorf("Observe of %q gave %d entries: %+v", handle, len(all), all)
	}
	return all[0], nil
}
