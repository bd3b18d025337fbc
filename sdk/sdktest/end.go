package sdktest

import "context"

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
