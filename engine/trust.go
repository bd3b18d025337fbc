package engine

import (
	"context"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/trust"
)

// Confirm returns nil if an experiment may have these effects: none of them is outside of
// its folder and its confinement, the user has confirmed them before, or
// [Options].Trust does so now. Otherwise it is a [trust.Error], of [KindUntrusted].
func (e *Engine) Confirm(ctx context.Context, effects trust.Effects) error {
	return e.guard.Confirm(ctx, effects)
}

// Replays say what of the records of runs may run again.
type Replays interface {
	// ConfirmReplay is [Engine.Confirm] for the agent of an experiment alone, in the isolation of
	// that kind. An agent that has run before needs no confirmation.
	ConfirmReplay(ctx context.Context, exp *experiment.Experiment, kind string) error
	// OwnRecord reports whether a run of this user has written the log of this SHA-256, in
	// hexadecimal digits; of an earlier version, the run.json.
	OwnRecord(digest string) (bool, error)
	// RememberRecord has OwnRecord know a log.
	RememberRecord(digest, path string) error
}

// Replays are those of this user.
func (e *Engine) Replays() Replays { return e.guard }

// Signers are the signers whose snapshots of processes this user restores. Seer makes the
// user's key if it does not exist.
func (e *Engine) Signers(ctx context.Context) (trust.Signers, error) { return e.guard.Signers(ctx) }

// TrustSigner trusts the snapshots that a key signs, or no longer does so. The fingerprint
// is as `ssh-keygen -l` shows it.
func (e *Engine) TrustSigner(ctx context.Context, fingerprint string, trusted bool) error {
	return e.guard.TrustSigner(ctx, fingerprint, trusted)
}

// SignerOf is who has signed a snapshot: "you", a trusted fingerprint, or why it is nobody
// of these.
func (e *Engine) SignerOf(ctx context.Context, saved snapshot.Snapshot) string {
	return e.guard.SignerOf(ctx, saved)
}
