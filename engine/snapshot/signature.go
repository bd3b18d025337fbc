package snapshot

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// maxSignature bounds an SSH signature; the largest of RSA keys have about 3 KiB.
const maxSignature = 16 << 10

// What an exported snapshot's manifest has of its signature.
const (
	signatureAnnotation = "dev.seer.snapshot.signature"
	signedAnnotation    = "dev.seer.snapshot.signed-name"
)

// Signature vouches for a snapshot under one name, so that nobody can pass an older
// snapshot off as a newer one. The store keeps it and checks only its form.
type Signature struct {
	Name string `json:"name"`
	SSH  string `json:"ssh"` // armored
}

func (g Signature) check() error {
	if g == (Signature{}) {
		return nil
	}
	if !nameForm().MatchString(g.Name) || len(g.SSH) > maxSignature || !strings.HasPrefix(g.SSH, "-----BEGIN SSH SIGNATURE-----") {
		return sdk.Errorf(sdk.Invalid, "its signature is none")
	}
	return nil
}

// Statement is what is signed of a snapshot. The ID covers every byte of it.
func Statement(id, name string) []byte {
	return fmt.Appendf(nil, "seer-snapshot 1\nid %s\nname %s\n", id, name)
}

// SignAs verifies all of a snapshot and replaces its signature by one that [Store].Sign
// makes, for the name that it has in this store.
func (s *Store) SignAs(ctx context.Context, ref string) (Snapshot, error) {
	if err := s.Verify(ctx, ref); err != nil {
		return Snapshot{}, err
	}
	sn, err := s.load(ctx, ref)
	if err != nil {
		return Snapshot{}, err
	}
	g, err := s.sign(ctx, sn.ID, sn.Name)
	if err != nil {
		return Snapshot{}, err
	}
	lock, err := s.lock(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	defer lock.Release()
	now, err := s.read(sn.Name)
	if err != nil || now.ID != sn.ID {
		return Snapshot{}, sdk.Errorf(sdk.Unavailable, "the snapshot %s was replaced meanwhile; look at it again", sn.Name)
	}
	if err := s.writeName(sn.Name, sn.ID, g); err != nil {
		return Snapshot{}, err
	}
	return s.read(sn.Name)
}

// sign is empty where nobody signs.
func (s *Store) sign(ctx context.Context, id, name string) (Signature, error) {
	if s.Sign == nil {
		return Signature{}, nil
	}
	armored, err := s.Sign(ctx, Statement(id, name))
	if err != nil {
		return Signature{}, fmt.Errorf("sign the snapshot %s: %w", name, err)
	}
	return Signature{Name: name, SSH: string(armored)}, nil
}

// named is a file names/NAME.json.
type named struct {
	ID        string     `json:"id"`
	Signature *Signature `json:"signature,omitempty"`
}

func (s *Store) writeName(name, id string, g Signature) error {
	n := named{ID: id}
	if g != (Signature{}) {
		n.Signature = &g
	}
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return state.WriteFile(s.path("names", name+".json"), append(text, '\n'), 0o600)
}

func (s *Store) readName(name string) (named, error) {
	var n named
	data, err := os.ReadFile(s.path("names", name+".json"))
	if err != nil {
		return n, err
	}
	if err := json.Unmarshal(data, &n); err != nil || !digestForm().MatchString(n.ID) {
		return n, sdk.Errorf(sdk.Invalid, "%s is damaged", s.path("names", name+".json"))
	}
	return n, nil
}
