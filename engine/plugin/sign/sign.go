// Package sign makes and checks the signatures of bundles: SSH signatures, as
// ssh-keygen -Y makes and checks them, by the keys that authors already have.
package sign

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"strings"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/seer-engine/seer/sdk"
)

// Namespaces keep a signature that was made for something else from being one of a plugin
// or of a snapshot.
const (
	Namespace         = "seer-plugin@seer"
	SnapshotNamespace = "seer-snapshot@seer"
)

// Signer is who has signed.
type Signer struct {
	Fingerprint string `json:"fingerprint"` // SHA256:…, as ssh-keygen -l shows it
	Type        string `json:"type"`        // ssh-ed25519 …
}

// Options are what signing may need besides the key.
type Options struct {
	Agent      string                                          // socket of the SSH agent, $SSH_AUTH_SOCK; empty = none
	Passphrase func(keyFile string) (secret []byte, err error) // of an encrypted key; nil = refused
	Namespace  string                                          // empty = that of plugins
}

// Sign signs a statement in the namespace of the options. The key file is an OpenSSH private key, or a public
// key whose private half the agent has, as hardware keys (sk-*) must.
func Sign(ctx context.Context, statement []byte, keyFile string, o Options) ([]byte, Signer, error) {
	key, done, err := open(ctx, keyFile, o)
	if err != nil {
		return nil, Signer{}, err
	}
	defer done()
	pub, err := ssh.ParsePublicKey(key.PublicKey().Marshal()) // an agent's says nothing of its size
	if err == nil {
		err = usable(pub)
	}
	if err != nil {
		return nil, Signer{}, sdk.Errorf(sdk.Invalid, "%s: %v", keyFile, err)
	}
	namespace := cmp.Or(o.Namespace, Namespace)
	sig, err := sshsig.Sign(bytes.NewReader(statement), key, sshsig.HashSHA512, namespace)
	if ctx.Err() != nil {
		return nil, Signer{}, ctx.Err()
	}
	if err != nil {
		return nil, Signer{}, sdk.Errorf(sdk.Unauthorized, "%s does not sign: %v", keyFile, err)
	}
	armored := sshsig.Armor(sig)
	signer, err := VerifyIn(namespace, statement, armored) // what an agent returns is not believed
	return armored, signer, err
}

// open finds the signing half of a key, in the file or in the agent.
func open(ctx context.Context, keyFile string, o Options) (ssh.Signer, func(), error) {
	text, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, nil, sdk.Errorf(sdk.NotFound, "cannot read the key: %v", err)
	}
	if pub, _, _, _, err := ssh.ParseAuthorizedKey(text); err == nil {
		return fromAgent(ctx, pub, o)
	}
	nothing := func() {}
	key, err := ssh.ParsePrivateKey(text)
	var locked *ssh.PassphraseMissingError
	switch {
	case err == nil:
		return key, nothing, nil
	case errors.As(err, &locked):
		key, err = unlock(text, keyFile, o)
		return key, nothing, err
	case strings.Contains(err.Error(), "unhandled key type"): // of hardware: the file only says which
		if half, readErr := os.ReadFile(keyFile + ".pub"); readErr == nil {
			if pub, _, _, _, err := ssh.ParseAuthorizedKey(half); err == nil {
				return fromAgent(ctx, pub, o)
			}
		}
	}
	return nil, nil, sdk.Errorf(sdk.Invalid, "%s is neither an OpenSSH private key nor a public one: %v", keyFile, err)
}

func unlock(text []byte, keyFile string, o Options) (ssh.Signer, error) {
	if o.Passphrase == nil {
		return nil, sdk.Errorf(sdk.Unauthorized, "%s has a passphrase; add it to the agent with `ssh-add %s`, then sign with %s.pub", keyFile, keyFile, keyFile)
	}
	secret, err := o.Passphrase(keyFile)
	if err != nil {
		return nil, err
	}
	defer clear(secret)
	key, err := ssh.ParsePrivateKeyWithPassphrase(text, secret)
	if err != nil {
		return nil, sdk.Errorf(sdk.Unauthorized, "%s: this is not its passphrase", keyFile)
	}
	return key, nil
}
