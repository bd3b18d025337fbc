package effects

import (
	"context"
	"errors"
	"fmt"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/trust"
	"github.com/seer-engine/seer/sdk"
)

// Sign signs the statement of a snapshot with the user's key; see [snapshot.Store].
func (g *Guard) Sign(ctx context.Context, statement []byte) ([]byte, error) {
	store, err := g.Store()
	if err != nil {
		return nil, err
	}
	return store.Sign(ctx, statement)
}

// Signers are who may sign the snapshots of processes that this user restores. The user's
// key is made if there is none yet.
func (g *Guard) Signers(ctx context.Context) (trust.Signers, error) {
	store, err := g.Store()
	if err != nil {
		return trust.Signers{}, errdefs.Wrap(errdefs.KindInternal, err)
	}
	signers, err := store.Signers(ctx)
	return signers, errdefs.Wrap(errdefs.KindInternal, err)
}

// TrustSigner trusts the snapshots that a key signs, or no longer does so. The fingerprint
// is as `ssh-keygen -l` shows it.
func (g *Guard) TrustSigner(ctx context.Context, fingerprint string, trusted bool) error {
	store, err := g.Store()
	if err != nil {
		return errdefs.Wrap(errdefs.KindInternal, err)
	}
	return errdefs.Wrap(errdefs.KindInternal, store.TrustSigner(ctx, fingerprint, trusted))
}

// signerOf says who has signed a snapshot under its name: [trust.OwnKey] or a trusted
// fingerprint. All else is an error.
func (g *Guard) signerOf(ctx context.Context, saved snapshot.Snapshot) (string, error) {
	signature := saved.Signature
	if signature == (snapshot.Signature{}) {
		return "", errors.New("it is not signed")
	}
	if signature.Name != saved.Name {
		return "", fmt.Errorf("it was signed under another name, %s", signature.Name)
	}
	store, err := g.Store()
	if err != nil {
		return "", err
	}
	return store.SignedBy(ctx, snapshot.Statement(saved.ID, saved.Name), []byte(signature.SSH))
}

// SignerOf is who has signed a snapshot: "you", a trusted fingerprint, or why it is nobody
// of these.
func (g *Guard) SignerOf(ctx context.Context, saved snapshot.Snapshot) string {
	signer, err := g.signerOf(ctx, saved)
	if err != nil {
		return err.Error()
	}
	return signer
}

// CheckSigned refuses saved processes that neither this user nor a trusted signer has signed:
// they would go on with whatever their author has put into their memory.
func (g *Guard) CheckSigned(ctx context.Context, saved snapshot.Snapshot) error {
	if g.Undefended {
		return nil
	}
	_, err := g.signerOf(ctx, saved)
	if err == nil {
		return nil
	}
	subject := "the snapshot " + saved.Name + ", " + saved.ID
	return &errdefs.Error{Kind: errdefs.KindUntrusted, Err: &trust.Error{
		Effects: trust.Effects{Subject: subject, Outside: []string{"go on with the processes of " + subject}, Inside: []string{}},
		Reason:  fmt.Sprintf("the processes of the snapshot %s are not restored: %v", saved.Name, err),
		Advice:  "sign it yourself if you know who saved it, or trust the key of its signer",
	}}
}

// SnapshotFact describes the snapshot that a sandbox starts from.
func (g *Guard) SnapshotFact(ctx context.Context, saved snapshot.Snapshot) *trust.Snapshot {
	signer, err := g.signerOf(ctx, saved)
	if err != nil {
		signer = "nobody known"
	}
	return &trust.Snapshot{Name: saved.Name, ID: saved.ID, Signer: signer}
}

// ConfirmProcesses asks before the processes that another signer has saved are shown
// folders of this computer.
func (g *Guard) ConfirmProcesses(ctx context.Context, saved snapshot.Snapshot, spec sdk.MachineSpec) error {
	signer, err := g.signerOf(ctx, saved)
	if signer == trust.OwnKey || g.Undefended {
		return nil
	}
	if err != nil {
		return &errdefs.Error{Kind: errdefs.KindUntrusted, Err: err}
	}
	facts := trust.Facts{Subject: "the snapshot " + saved.Name + ", " + saved.ID, Snapshot: &trust.Snapshot{Name: saved.Name, ID: saved.ID, Signer: signer}}
	for _, m := range spec.Mounts {
		if facts.Read = append(facts.Read, realPaths(m.Source)...); m.Writable {
			facts.Written = append(facts.Written, realPaths(m.Source)...)
		}
	}
	return g.Confirm(ctx, trust.Of(facts))
}
