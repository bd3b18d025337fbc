package sign

import (
	"bytes"
	"crypto/rsa"
	"fmt"
	"strings"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/sdk"
)

const leastRSA = 3072 // bits, what ssh-keygen makes by itself

// Verify is [VerifyIn] for plugins.
func Verify(statement, armored []byte) (Signer, error) {
	return VerifyIn(Namespace, statement, armored)
}

// VerifyIn checks that armored is a signature of the statement in a namespace, and says
// whose. Whether that one may sign is not its business.
func VerifyIn(namespace string, statement, armored []byte) (Signer, error) {
	sig, err := parse(armored)
	if err != nil {
		return Signer{}, err
	}
	signer := Signer{Fingerprint: ssh.FingerprintSHA256(sig.PublicKey), Type: sig.PublicKey.Type()}
	if err := usable(sig.PublicKey); err != nil {
		return Signer{}, sdk.Errorf(sdk.Unauthorized, "the signature is of a key that cannot be relied on: %v", err)
	}
	if sig.Namespace != namespace {
		err := sdk.Errorf(sdk.Unauthorized, "the signature is for %.60q, not for %s; sign with ssh-keygen -Y sign -n %s", sig.Namespace, signed(namespace), namespace)
		if namespace == Namespace {
			return Signer{}, remedy.For(err, remedy.Remedy{Action: remedy.SignPlugin})
		}
		return Signer{}, err
	}
	if err := sshsig.Verify(bytes.NewReader(statement), sig, sig.PublicKey, sig.HashAlgorithm, namespace); err != nil {
		return Signer{}, sdk.Errorf(sdk.Unauthorized, "the signature by %s is wrong: this is not what was signed", signer.Fingerprint)
	}
	return signer, nil
}

// signed names what is signed in a namespace.
func signed(namespace string) string {
	if namespace == SnapshotNamespace {
		return "a snapshot"
	}
	return "a plugin"
}

// parse reads a signature that is written in the one way there is: nothing around it,
// nothing in it that is not covered by what is checked.
func parse(armored []byte) (*sshsig.Signature, error) {
	if len(armored) > bundle.MaxSignature {
		return nil, sdk.Errorf(sdk.Unauthorized, "the signature is larger than %d KiB", bundle.MaxSignature>>10)
	}
	sig, err := sshsig.Unarmor(armored)
	if err != nil {
		return nil, sdk.Errorf(sdk.Unauthorized, "not an SSH signature: %.200q", err.Error())
	}
	hardware := strings.HasPrefix(sig.PublicKey.Type(), "sk-") // whose flags and counter follow the signature, and are signed
	if !bytes.Equal(unwrapped(armored), unwrapped(sshsig.Armor(sig))) || (len(sig.Signature.Rest) > 0 && !hardware) {
		return nil, sdk.Errorf(sdk.Unauthorized, "the SSH signature has something in it or around it that does not belong there")
	}
	return sig, nil
}

// unwrapped joins lines: programs break them at different columns.
func unwrapped(armored []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r == '\r' || r == '\n' {
			return -1
		}
		return r
	}, armored)
}

// usable refuses keys that are too weak, and certificates, whose issuer nobody has checked.
func usable(key ssh.PublicKey) error {
	switch key.Type() {
	case ssh.KeyAlgoED25519, ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256,
		ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521:
		return nil
	case ssh.KeyAlgoRSA:
		if outer, ok := key.(ssh.CryptoPublicKey); ok {
			if inner, ok := outer.CryptoPublicKey().(*rsa.PublicKey); ok {
				if bits := inner.N.BitLen(); bits < leastRSA {
					return fmt.Errorf("an RSA key of %d bits; %d are needed (or make one with `ssh-keygen -t ed25519`)", bits, leastRSA)
				}
				return nil
			}
		}
	}
	return fmt.Errorf("a key of type %.60q; make one with `ssh-keygen -t ed25519`", key.Type())
}
