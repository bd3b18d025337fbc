package store

import (
	"context"
	"fmt"

	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/internal/lazyregexp"
)

var fingerprintPattern = lazyregexp.New(`^SHA256:[A-Za-z0-9+/]{43}$`)

// SignerError says that a plugin is not signed by who signed it before.
type SignerError struct {
	ID, Known string
	Got       string // "" = unsigned
}

func (e *SignerError) Error() string {
	got := "this one is not signed"
	if e.Got != "" {
		got = "this one is by " + e.Got
	}
	return fmt.Sprintf("%s was signed by %s, and %s. Ask its author first, in another way than the one by which this came; if it is right, accept the change, and install it again", e.ID, e.Known, got)
}

// Remedy implements [remedy.Carrier].
func (e *SignerError) Remedy() []remedy.Remedy {
	return []remedy.Remedy{{Action: remedy.AcceptSigner, Plugin: e.ID, Signer: e.Got}}
}

func signerChanged(id, known, got string) error { return &SignerError{id, known, got} }

// Signer is the fingerprint that is remembered for a plugin; "" = none.
func (s *Store) Signer(id string) (string, error) {
	l, err := s.read()
	if err != nil {
		return "", err
	}
	return l.Signers[id].Fingerprint, nil
}

// Pin remembers the signer of a plugin. Another one than is remembered is a [SignerError].
func (s *Store) Pin(ctx context.Context, id, fingerprint string) error {
	return s.update(ctx, func(l *ledger) error {
		if known := l.Signers[id].Fingerprint; known != "" && known != fingerprint {
			return signerChanged(id, known, fingerprint)
		}
		l.Signers[id] = Signer{fingerprint, seconds(s.now())}
		return nil
	})
}

// Repin forgets the signer of a plugin, so that the next installation remembers
// whoever signed it, or remembers that one at once where it is known.
func (s *Store) Repin(ctx context.Context, id, fingerprint string) error {
	return s.update(ctx, func(l *ledger) error {
		delete(l.Signers, id)
		if fingerprint != "" {
			l.Signers[id] = Signer{fingerprint, seconds(s.now())}
		}
		return nil
	})
}
