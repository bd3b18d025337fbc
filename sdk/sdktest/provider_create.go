package sdktest

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/seer-engine/seer/sdk"
)

func (l *lab) createGives(ctx context.Context, t *trial) {
	c := &creation{l: l, spec: l.spec(ctx, l.ownerFor(t))}
	before := l.world.Count()
	handle, err := c.finish(ctx)
	if err != nil {
		t.failf("renting a machine: %s", describe(err))
		t.lack(needMachine)
		return
	}
	t.notef("%s, %s", number(c.calls, "call"), number(l.world.Count()-before, "request"))
	for _, line := range c.log {
		if strings.ContainsAny(line, "\n\x1b") {
			t.failf("the log line %s is more than one line of plain text", shorten(line))
		}
	}
	m, ok := l.one(ctx, t, c.spec, handle)
	if !ok {
		t.lack(needMachine)
	} else if m.Key != c.spec.Key || m.Owner != c.spec.Owner || m.EndUnix != c.spec.EndUnix {
		t.failf("List gives key %q, owner %q, end %d for the new machine; they were %q, %q, %d: store them with the machine, as tags or in its name",
			m.Key, m.Owner, m.EndUnix, c.spec.Key, c.spec.Owner, c.spec.EndUnix)
	}
}

// one wants exactly one live machine of a spec, the only one of its owner.
func (l *lab) one(ctx context.Context, t *trial, spec sdk.MachineSpec, handle string) (m sdk.Listed, ok bool) {
	var live []sdk.Listed
	err := l.until(ctx, func() (bool, error) { // some backends list late
		var err error
		live, err = l.own(ctx, spec)
		return err == nil && len(live) > 0, err
	})
	switch {
	case err != nil:
		t.failf("List does not find the machine %s that was just made: %v", handle, err)
	case len(live) != 1:
		t.failf("there are %d machines of one key: %s; look for one of the key before making another", len(live), handles(live))
	case live[0].Handle != handle:
		t.failf("List gives the machine %q; made was %q", live[0].Handle, handle)
	default:
		l.behind(t, spec)
		return live[0], true
	}
	return m, false
}

// own lists the live machines that may be of a spec. Others of the same owner are for
// other checks to judge.
func (l *lab) own(ctx context.Context, spec sdk.MachineSpec) ([]sdk.Listed, error) {
	live, err := l.live(ctx, spec.Owner)
	return slices.DeleteFunc(live, func(m sdk.Listed) bool { return m.Owner != spec.Owner || m.Key != "" && m.Key != spec.Key }), err
}

// behind looks behind the provider's back: at most one machine of the spec costs money.
func (l *lab) behind(t *trial, spec sdk.MachineSpec) {
	if l.kit.Machines == nil {
		return
	}
	n := 0
	for _, m := range l.kit.Machines() {
		if m.Live && m.Env[envKey] == spec.Key {
			n++
		}
	}
	if n > 1 {
		t.failf("the simulator has %d live machines of one key", n)
	}
}

func handles(list []sdk.Listed) string {
	var names []string
	for _, m := range list {
		names = append(names, m.Handle)
	}
	return strings.Join(names, ", ")
}

// createAgain begins anew before every step, and after the last one.
func (l *lab) createAgain(ctx context.Context, t *trial) {
	spec := l.spec(ctx, l.ownerFor(t))
	c := &creation{l: l, spec: spec}
	cursors := []json.RawMessage{nil}
	found := map[string]bool{}
	for over := false; !over; {
		var handle string
		var err error
		if handle, over, err = c.step(ctx); err != nil {
			t.failf("renting a machine: %s", describe(err))
			return
		}
		if over {
			found[handle] = true
			break
		}
		cursors = append(cursors, c.cursor)
		// A process that knows nothing of the first one.
		if step, err := l.open().Create(ctx, spec, nil); err == nil && step.Handle != "" {
			found[step.Handle] = true
		}
	}
	for i, cursor := range cursors {
		again := &creation{l: l, spec: spec, cursor: cursor}
		handle, err := again.finish(ctx)
		if err != nil {
			t.failf("going on from step %d of %d, after the machine was made: %s", i, len(cursors), describe(err))
			continue
		}
		found[handle] = true
	}
	if len(found) != 1 {
		t.failf("one key has the handles %s", strings.Join(slices.Sorted(maps.Keys(found)), ", "))
	}
	for handle := range found {
		l.one(ctx, t, spec, handle)
		return
	}
}

// createTogether lets four processes rent the same at once.
func (l *lab) createTogether(ctx context.Context, t *trial) {
	spec := l.spec(ctx, l.ownerFor(t))
	var wait sync.WaitGroup
	results, errs := make([]string, 4), make([]error, 4)
	for i := range results {
		wait.Add(1) // the kit is also for Go 1.24, which has no WaitGroup.Go
		go func() {
			defer wait.Done()
			results[i], errs[i] = l.create(ctx, spec)
		}()
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			t.failf("of 4 at once, one failed: %v", err)
			return
		}
	}
	slices.Sort(results)
	if got := slices.Compact(results); len(got) != 1 {
		t.failf("one key has the handles %s; where the backend knows no unique names, settle on one (the oldest) and end the others", strings.Join(got, ", "))
	}
	l.one(ctx, t, spec, results[0])
}

// createLost loses the answer of each request of a creation in turn, and the request itself.
func (l *lab) createLost(ctx context.Context, t *trial) {
	if !l.networked(t, "there are no requests whose answers could be lost") {
		return
	}
	for what, effect := range map[string]Effect{"the answer to request": AnswerLost(), "request": Refused()} {
		for i := 0; i < maxSteps; i++ {
			if !l.loseOne(ctx, t, what, effect, i) || l.kit.Quick && i >= 3 {
				break
			}
		}
	}
}

// loseOne makes a machine of which the i-th request goes wrong, and reports whether there
// was such a request.
func (l *lab) loseOne(ctx context.Context, t *trial, what string, effect Effect, i int) bool {
	owner := l.owner()
	defer l.end(ctx, t, owner)
	c := &creation{l: l, spec: l.spec(ctx, owner)}
	before := l.world.Count()
	remove := l.world.Inject(Fault{After: i, Times: 1, Effect: effect})
	defer remove()
	handle, err := c.finish(ctx)
	hit := l.world.Count()-before > i
	if err != nil {
		t.failf("%s %d of a creation was lost, and nothing came of it: %s; a lost connection is unavailable, so that Seer calls again", what, i+1, describe(err))
		return false
	}
	remove()
	l.one(ctx, t, c.spec, handle)
	return hit && len(t.fails) == 0
}

func (l *lab) createForeignCursor(ctx context.Context, t *trial) {
	for _, cursor := range []string{`{"nobody":"gave this","step":99}`, `"text"`, `[1,2]`, `7`, `{"step":-1}`} {
		owner := l.owner()
		spec := l.spec(ctx, owner)
		step, err := l.open().Create(ctx, spec, json.RawMessage(cursor))
		if isDefect(err) {
			t.failf("Create with the cursor %s: %v", cursor, err)
		}
		if err == nil && step.Handle == "" {
			if e := checkCursor(step.Cursor); e != nil {
				t.failf("Create with the cursor %s: %v", cursor, e)
			}
		}
		if live, err := l.live(ctx, owner); err == nil && len(live) > 1 {
			t.failf("Create with the cursor %s made %d machines", cursor, len(live))
		}
		l.end(ctx, t, owner)
	}
}

func (l *lab) createArrives(ctx context.Context, t *trial) {
	if l.kit.Machines == nil {
		t.skipf("only the kit in go test can see what the simulator has got: ProviderKit.Machines")
		return
	}
	spec, handle, ok := rent(ctx, l, t, "arrives")
	if !ok {
		return
	}
	for _, m := range l.kit.Machines() {
		if m.Handle != handle {
			continue
		}
		if !slices.Equal(m.Command, spec.Command) {
			t.failf("the machine's command is %q; asked for was %q: pass argv on as it is, quoted where the backend wants one string", m.Command, spec.Command)
		}
		for name, value := range spec.Env {
			if m.Env[name] != value {
				t.failf("the machine's %s is %q; asked for was %q", name, m.Env[name], value)
			}
		}
		if m.Port != spec.Port {
			t.failf("the machine's port is %d; asked for was %d", m.Port, spec.Port)
		}
		return
	}
	t.failf("the simulator has no machine %q; the kit's Machines must give the handles that the provider gives", handle)
}
