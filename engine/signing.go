package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/trust"
)

// signSnapshot is [snapshot.Store].Sign with the user's key.
func (e *Engine) signSnapshot(ctx context.Context, statement []byte) ([]byte, error) {
	store, err := e.trusted()
	if err != nil {
		return nil, err
	}
	return store.Sign(ctx, statement)
}

// Signers are who may sign the snapshots of processes that this user restores. The user's
// key is made if there is none yet.
func (e *Engine) Signers(ctx context.Context) (trust.Signers, error) {
	store, err := e.trusted()
	if err != nil {
		return trust.Signers{}, as(KindInternal, err)
	}
	signers, err := store.Signers(ctx)
	return signers, as(KindInternal, err)
}

// TrustSigner trusts the snapshots that a key signs, or no longer does so. The fingerprint
// is as `ssh-keygen -l` shows it.
func (e *Engine) TrustSigner(ctx context.Context, fingerprint string, trusted bool) error {
	store, err := e.trusted()
	if err != nil {
		return as(KindInternal, err)
	}
	return as(KindInternal, store.TrustSigner(ctx, fingerprint, trusted))
}

// SignSnapshot vouches for a snapshot: it reads all of it, and signs it with the user's key
// under the name that it has here.
func (e *Engine) SignSnapshot(ctx context.Context, ref string) (snapshot.Snapshot, error) {
	store, err := e.Snapshots()
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	signed, err := store.SignAs(ctx, ref)
	return signed, as(KindInternal, err)
}

// signerOf says who has signed a snapshot under its name: [trust.OwnKey] or a trusted
// fingerprint. All else is an error.
func (e *Engine) signerOf(ctx context.Context, saved snapshot.Snapshot) (string, error) {
	g := saved.Signature
	if g == (snapshot.Signature{}) {
		return "", errors.New("it is not signed")
	}
	if g.Name != saved.Name {
		return "", fmt.Errorf("it was signed under another name, %s", g.Name)
	}
	store, err := e.trusted()
	if err != nil {
		return "", err
	}
	return store.SignedBy(ctx, snapshot.Statement(saved.ID, saved.Name), []byte(g.SSH))
}

// SignerOf is who has signed a snapshot: "you", a trusted fingerprint, or why it is nobody
// of these.
func (e *Engine) SignerOf(ctx context.Context, saved snapshot.Snapshot) string {
	signer, err := e.signerOf(ctx, saved)
	if err != nil {
		return err.Error()
	}
	return signer
}

// vouched refuses saved processes that neither this user nor a trusted signer has signed:
// they would go on with whatever their author has put into their memory.
func (e *Engine) vouched(ctx context.Context, saved snapshot.Snapshot) error {
	if e.unguarded {
		return nil
	}
	_, err := e.signerOf(ctx, saved)
	if err == nil {
		return nil
	}
	subject := "the snapshot " + saved.Name + ", " + saved.ID
	return &Error{Kind: KindUntrusted, Err: &trust.Error{
		Effects: trust.Effects{Subject: subject, Outside: []string{"go on with the processes of " + subject}, Inside: []string{}},
		Reason:  fmt.Sprintf("the processes of the snapshot %s are not restored: %v", saved.Name, err),
		Advice:  "sign it yourself if you know who saved it, or trust the key of its signer",
	}}
}
