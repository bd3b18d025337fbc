package trust

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/crypto/ssh"

	"github.com/seer-engine/seer/engine/plugin/sign"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

// Files in the folder of a [Store].
const (
	keyName     = "id_ed25519"   // the user's key, OpenSSH
	signersName = "signers.json" // fingerprints of others
)

// Signers are who may sign the snapshots of processes that a user restores.
type Signers struct {
	Own     string   `json:"own"`     // fingerprint of the user's key, as ssh-keygen -l shows it
	Trusted []string `json:"trusted"` // of others
}

// key is the file of the key that signs this user's snapshots, made at first use. It never
// leaves this computer.
func (s Store) key(ctx context.Context) (string, error) {
	path := filepath.Join(s.Dir, keyName)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	lock, err := state.Acquire(ctx, path+".lock") // two programs make one key
	if err != nil {
		return "", err
	}
	defer lock.Release()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", err
	}
	block, err := ssh.MarshalPrivateKey(key, "seer snapshots")
	if err != nil {
		return "", err
	}
	return path, state.WriteFile(path, pem.EncodeToMemory(block), 0o600)
}

// Sign signs a statement about a snapshot with the user's key.
func (s Store) Sign(ctx context.Context, statement []byte) ([]byte, error) {
	key, err := s.key(ctx)
	if err != nil {
		return nil, fmt.Errorf("make the key that signs snapshots: %w", err)
	}
	armored, _, err := sign.Sign(ctx, statement, key, sign.Options{Namespace: sign.SnapshotNamespace})
	return armored, err
}

// Signers lists them. It makes the user's key if there is none yet.
func (s Store) Signers(ctx context.Context) (Signers, error) {
	key, err := s.key(ctx)
	if err != nil {
		return Signers{}, fmt.Errorf("make the key that signs snapshots: %w", err)
	}
	data, err := os.ReadFile(key)
	if err != nil {
		return Signers{}, err
	}
	private, err := ssh.ParsePrivateKey(data)
	if err != nil {
		return Signers{}, sdk.Errorf(sdk.Invalid, "read the key that signs snapshots, %s: %v; remove the file for a new key, and sign your snapshots again", key, err)
	}
	trusted, err := s.trusted()
	return Signers{Own: ssh.FingerprintSHA256(private.PublicKey()), Trusted: trusted}, err
}

func (s Store) trusted() ([]string, error) {
	list, path := []string{}, filepath.Join(s.Dir, signersName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "read the trusted signers: %v; remove %s, and name them again", err, path)
	}
	return list, nil
}

var fingerprintForm = lazyregexp.New(`^SHA256:[A-Za-z0-9+/]{43}$`)

// TrustSigner trusts the snapshots that a key signs, or no longer does so.
func (s Store) TrustSigner(ctx context.Context, fingerprint string, trusted bool) error {
	if !fingerprintForm().MatchString(fingerprint) {
		return sdk.Errorf(sdk.Invalid, "%.80q is not the fingerprint of a key: SHA256: and 43 characters", fingerprint)
	}
	path := filepath.Join(s.Dir, signersName)
	return state.Locked(ctx, path+".lock", func() error {
		list, err := s.trusted()
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(have string) bool { return have == fingerprint })
		if trusted {
			list = append(list, fingerprint)
		}
		slices.Sort(list)
		data, err := json.MarshalIndent(list, "", "  ")
		if err != nil {
			return err
		}
		return state.WriteFile(path, append(data, '\n'), 0o600)
	})
}

// SignedBy says who has signed a statement about a snapshot: [OwnKey] or a trusted
// fingerprint. All else is an error.
func (s Store) SignedBy(ctx context.Context, statement, armored []byte) (string, error) {
	signer, err := sign.VerifyIn(sign.SnapshotNamespace, statement, armored)
	if err != nil {
		return "", err
	}
	known, err := s.Signers(ctx)
	switch {
	case err != nil:
		return "", err
	case signer.Fingerprint == known.Own:
		return OwnKey, nil
	case slices.Contains(known.Trusted, signer.Fingerprint):
		return signer.Fingerprint, nil
	}
	return "", sdk.Errorf(sdk.Unauthorized, "it was signed by %s, whom you do not trust", signer.Fingerprint)
}
