package sdktest

import (
	"context"
	"fmt"
	"slices"

	"github.com/seer-engine/seer/sdk"
)

func (l *lab) listFinds(ctx context.Context, t *trial) {
	owner := l.ownerFor(t)
	specs := map[string]sdk.MachineSpec{}
	for range 3 {
		spec := l.spec(ctx, owner)
		spec.EndUnix += int64(len(specs))
		handle, err := l.create(ctx, spec)
		if !t.try("list", err) {
			return
		}
		specs[handle] = spec
	}
	var live []sdk.Listed
	err := l.until(ctx, func() (bool, error) {
		var err error
		live, err = l.live(ctx, owner)
		return len(live) >= len(specs), err
	})
	if err != nil {
		t.failf("List gives %d of %d machines of one owner: %v; where the backend answers in pages, read every page", len(live), len(specs), err)
		return
	}
	seen := map[string]bool{}
	for _, m := range live {
		spec, known := specs[m.Handle]
		switch {
		case !known || seen[m.Handle]:
			t.failf("List gave %q, which is not among what was rented, or twice", m.Handle)
		case m.Key != spec.Key || m.Owner != owner || m.EndUnix != spec.EndUnix:
			t.failf("List gave key %q, owner %q, end %d for %s; they were %q, %q, %d: store them with the machine, as tags or in its name",
				m.Key, m.Owner, m.EndUnix, m.Handle, spec.Key, owner, spec.EndUnix)
		}
		seen[m.Handle] = true
	}
}

func (l *lab) listOwners(ctx context.Context, t *trial) {
	mine := l.owner()
	// Names that contain each other, for those who search by prefix.
	longer, shorter := mine+"0", mine[:len(mine)-1]
	l.adopt(longer)
	defer l.end(ctx, t, mine)
	defer l.end(ctx, t, longer)
	for _, owner := range []string{mine, longer} {
		if _, err := l.create(ctx, l.spec(ctx, owner)); !t.try("list", err) {
			return
		}
	}
	for owner, want := range map[string]int{mine: 1, longer: 1, shorter: 0, "seer-" + random(20): 0} {
		var all []sdk.Listed
		err := l.until(ctx, func() (bool, error) {
			var err error
			all, err = l.open().List(ctx, owner)
			return len(all) >= want, err
		})
		if err != nil {
			t.failf("List of %s: %s; no machines is an empty list", owner, err)
		}
		for _, m := range all {
			if m.Owner != owner {
				t.failf("List of %q gave %s, which belongs to %q: somebody else's machine would be ended", owner, m.Handle, m.Owner)
			}
		}
		if len(all) > want && all[0].Owner == owner {
			t.failf("List of %q gave %s; rented for it: %d; compare the whole owner", owner, number(len(all), "machine"), want)
		}
	}
}

// gone wants a machine to have come to its end.
func (l *lab) gone(ctx context.Context, t *trial, owner, handle string) {
	err := l.until(ctx, func() (bool, error) {
		o, err := l.observe(ctx, handle)
		if err != nil || o.State.Live() {
			return false, err
		}
		live, err := l.live(ctx, owner)
		return !slices.ContainsFunc(live, func(m sdk.Listed) bool { return m.Handle == handle }), err
	})
	if err != nil {
		t.failf("%s was terminated and still lives, by Observe or List: %v", handle, err)
	}
	if l.kit.Machines == nil {
		return
	}
	for _, m := range l.kit.Machines() {
		if m.Handle == handle && m.Live {
			t.failf("%s was terminated, and the simulator still bills for it", handle)
		}
	}
}

func (l *lab) terminateEnds(ctx context.Context, t *trial) {
	spec, handle, ok := rent(ctx, l, t, "terminate")
	if ok && t.try("Terminate", l.open().Terminate(ctx, handle)) {
		l.gone(ctx, t, spec.Owner, handle)
	}
}

func (l *lab) terminateAgain(ctx context.Context, t *trial) {
	spec, handle, ok := rent(ctx, l, t, "terminate")
	if !ok {
		return
	}
	for i := range 3 {
		if err := l.open().Terminate(ctx, handle); err != nil {
			t.failf("Terminate, time %d: %s; what has ended is done", i+1, describe(err))
		}
		if i == 1 {
			l.gone(ctx, t, spec.Owner, handle)
		}
	}
	if err := l.open().Terminate(ctx, unknownHandle); err != nil {
		t.failf("Terminate of a handle that never was: %s; it is done", describe(err))
	}
}

func (l *lab) terminateOnly(ctx context.Context, t *trial) {
	owner, made := rentMany(ctx, l, t, 2)
	if made == nil {
		return
	}
	for _, odd := range []string{"", "*", ".", "../" + made[0], made[0] + "/../" + made[1], made[0][:len(made[0])-1], "?owner=" + owner, "a\nb", "é"} {
		if err := l.open().Terminate(ctx, odd); isDefect(err) {
			t.failf("Terminate(%q): %v", odd, err)
		}
		for _, handle := range made {
			if o, err := l.observe(ctx, handle); err != nil || !o.State.Live() {
				t.failf("Terminate(%q) ended %s, or hid it: it is %q (%s)%s; check handles, or escape them with url.PathEscape", odd, handle, o.State, o.Message, because(err))
				return
			}
		}
	}
	t.try("Terminate", l.open().Terminate(ctx, made[0]))
	l.gone(ctx, t, owner, made[0])
	if o, err := l.observe(ctx, made[1]); err != nil || !o.State.Live() {
		t.failf("Terminate of one machine ended the other one%s", because(err))
	}
}

func (l *lab) terminateLost(ctx context.Context, t *trial) {
	if !l.networked(t, "there are no requests whose answers could be lost") {
		return
	}
	for name, effect := range map[string]Effect{"an answer that was lost": AnswerLost(), "a lost request": Refused(), "503": StatusCode(503)} {
		owner := l.owner()
		handle, err := l.create(ctx, l.spec(ctx, owner))
		if !t.try("terminate", err) {
			return
		}
		remove := l.world.Inject(Fault{Times: 1, Effect: effect})
		if err := l.open().Terminate(ctx, handle); err != nil && !passing(err) {
			t.failf("Terminate with %s: %s; unavailable was expected, so that Seer calls again", name, describe(err))
		}
		remove()
		if err := l.open().Terminate(ctx, handle); err != nil {
			t.failf("Terminate after %s: %s", name, describe(err))
		}
		l.gone(ctx, t, owner, handle)
	}
}

func (l *lab) snapshotOnce(ctx context.Context, t *trial) {
	if !l.open().has(ctx, t, sdk.FeatureSnapshot) {
		return
	}
	_, handle, ok := rent(ctx, l, t, "snapshot")
	if !ok {
		return
	}
	key := "seer-" + random(20)
	first, err := l.copyOf(ctx, handle, key)
	if !t.try("Snapshot", err) {
		return
	}
	second, err := l.copyOf(ctx, handle, key)
	if t.try("Snapshot again", err) && first != second {
		t.failf("one key has the copies %q and %q", first, second)
	}
	if image, err := l.copyOf(ctx, unknownHandle, "seer-"+random(20)); err == nil {
		t.failf("a machine that never was has the copy %q; not_found was expected", image)
	} else if isDefect(err) {
		t.failf("%v", err)
	}
}

// copyOf drives Snapshot to its end.
func (l *lab) copyOf(ctx context.Context, handle, key string) (string, error) {
	var cursor []byte
	for range maxSteps {
		step, err := l.open().snapshot(ctx, handle, key, cursor)
		if err != nil {
			return "", err
		}
		if step.Image != "" {
			return step.Image, nil
		}
		if err := checkCursor(step.Cursor); err != nil {
			return "", err
		}
		cursor = step.Cursor
		if err := l.pause(ctx, seconds(step.AfterSeconds)); err != nil {
			return "", err
		}
	}
	return "", defect{fmt.Sprintf("Snapshot gave neither an image nor an error in %d calls", maxSteps)}
}

func (l *lab) endStray(_ context.Context, t *trial) {
	for _, stray := range l.world.Strays() {
		t.failf("%s: a redirect was followed to where nobody has allowed it; with an http.Client of your own, set CheckRedirect", stray)
	}
}

func (l *lab) endTidy(_ context.Context, t *trial) {
	for _, text := range l.guard.untidy() {
		t.failf("%s", text)
	}
}

func (l *lab) endSecrets(_ context.Context, t *trial) {
	secrets := append([]string(nil), l.kit.Secrets...)
	for _, values := range l.kit.Headers {
		secrets = append(secrets, credentials(values)...)
	}
	for _, text := range l.guard.leaks(secrets) {
		t.failf("%s", text)
	}
	t.notef("%d different texts of %d calls were looked through", len(l.guard.said), l.guard.calls)
}

func (l *lab) endNothing(ctx context.Context, t *trial) {
	for _, owner := range l.owners {
		live, err := l.live(ctx, owner)
		if err != nil {
			t.failf("List of %s at the end: %s", owner, describe(err))
			continue
		}
		if len(live) == 0 {
			continue
		}
		t.failf("still rented for %s: %s", owner, handles(live))
		l.end(ctx, t, owner)
	}
	if l.kit.Machines == nil {
		return
	}
	for _, m := range l.kit.Machines() {
		if m.Live && l.keys[m.Env[envKey]] {
			t.failf("the simulator still bills for %s, which List does not show", m.Handle)
		}
	}
}

// cleanSpares tries Clean beside a machine: it must go on.
func cleanSpares(ctx context.Context, l *lab, t *trial) {
	if !l.open().has(ctx, t, sdk.FeatureClean) {
		return
	}
	_, handle, ok := rent(ctx, l, t, "clean")
	if !ok {
		return
	}
	options := l.kit.Query.Options
	first, err := l.open().clean(ctx, sdk.CleanInput{DryRun: true, Options: options})
	if !t.try("Clean with DryRun", err) {
		return
	}
	second, err := l.open().clean(ctx, sdk.CleanInput{DryRun: true, Options: options})
	if t.try("Clean with DryRun again", err) && !same(first, second) {
		t.failf("with DryRun nothing is removed, and twice the same is reported: %+v, then %+v", first, second)
	}
	gone, err := l.open().clean(ctx, sdk.CleanInput{Options: options})
	if !t.try("Clean", err) {
		return
	}
	for _, c := range append(first, gone...) {
		if c.Name == "" || c.Bytes < 0 {
			t.failf("%+v has no name, or a size that is negative", c)
		}
	}
	if o, err := l.observe(ctx, handle); err != nil || !o.State.Live() {
		t.failf("after Clean the machine is %s (%s); Clean spares what a machine uses", o.State, describe(err))
	}
}
