package sign_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/sign"
	"github.com/seer-engine/seer/sdk"
)

var statement = []byte("seer-plugin-v1\nid expose-x\nversion 0.1.0\nmanifest sha256:aa\nwasm sha256:bb\n")

// keygen runs the real one, with text as its input, and returns what it says.
func keygen(t *testing.T, text []byte, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("ssh-keygen", args...)
	cmd.Stdin = bytes.NewReader(text)
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Fatal("ssh-keygen is missing: run scripts/setup test")
	}
	return string(out), err
}

// newKey makes a key and returns its file.
func newKey(t *testing.T, passphrase string, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if out, err := keygen(t, nil, append([]string{"-q", "-N", passphrase, "-C", "author", "-f", file}, args...)...); err != nil {
		t.Fatal(out, err)
	}
	return file
}

func fingerprint(t *testing.T, file string) string {
	t.Helper()
	out, err := keygen(t, nil, "-l", "-f", file+".pub")
	if err != nil {
		t.Fatal(out)
	}
	return strings.Fields(out)[1]
}

// byTheReal makes a signature with ssh-keygen -Y sign.
func byTheReal(t *testing.T, file, namespace string) []byte {
	t.Helper()
	message := filepath.Join(t.TempDir(), "statement")
	if err := os.WriteFile(message, statement, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := keygen(t, nil, "-Y", "sign", "-f", file, "-n", namespace, message); err != nil {
		t.Fatal(out)
	}
	armored, err := os.ReadFile(message + ".sig")
	if err != nil {
		t.Fatal(err)
	}
	return armored
}

// theRealAccepts checks a signature with ssh-keygen -Y verify and check-novalidate.
func theRealAccepts(t *testing.T, file string, text, armored []byte) error {
	t.Helper()
	dir := t.TempDir()
	sig, allowed := filepath.Join(dir, "sig"), filepath.Join(dir, "allowed")
	pub, err := os.ReadFile(file + ".pub")
	if err == nil {
		err = errors.Join(os.WriteFile(sig, armored, 0o600), os.WriteFile(allowed, append([]byte("author "), pub...), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	_, checked := keygen(t, text, "-Y", "check-novalidate", "-n", sign.Namespace, "-s", sig)
	_, verified := keygen(t, text, "-Y", "verify", "-f", allowed, "-I", "author", "-n", sign.Namespace, "-s", sig)
	return errors.Join(checked, verified)
}

func TestBothWays(t *testing.T) {
	for kind, args := range map[string][]string{
		"ssh-ed25519": {"-t", "ed25519"}, "ecdsa-sha2-nistp256": {"-t", "ecdsa"}, "ecdsa-sha2-nistp521": {"-t", "ecdsa", "-b", "521"},
		"ssh-rsa": {"-t", "rsa", "-b", "3072"},
	} {
		key := newKey(t, "", args...)
		want := sign.Signer{Fingerprint: fingerprint(t, key), Type: kind}
		armored, signer, err := sign.Sign(t.Context(), statement, key, sign.Options{})
		if err != nil || signer != want {
			t.Fatalf("%s: %+v, %v", kind, signer, err)
		}
		if err := theRealAccepts(t, key, statement, armored); err != nil {
			t.Errorf("%s: ssh-keygen refuses our signature: %v", kind, err)
		}
		if theRealAccepts(t, key, append(statement, '\n'), armored) == nil {
			t.Errorf("%s: ssh-keygen accepts it for anything", kind)
		}
		if signer, err := sign.Verify(statement, byTheReal(t, key, sign.Namespace)); err != nil || signer != want {
			t.Errorf("%s: we refuse ssh-keygen's: %+v, %v", kind, signer, err)
		}
		if signer, err := sign.Verify(statement, bytes.ReplaceAll(armored, []byte("\n"), []byte("\r\n"))); err != nil || signer != want {
			t.Errorf("%s: other line ends: %v", kind, err)
		}
	}
}

func TestPassphrase(t *testing.T) {
	key := newKey(t, "correct horse", "-t", "ed25519", "-a", "1")
	_, _, err := sign.Sign(t.Context(), statement, key, sign.Options{})
	if sdk.CodeOf(err) != sdk.Unauthorized || !strings.Contains(err.Error(), "ssh-add") {
		t.Errorf("%v", err)
	}
	says := func(secret string, err error) sign.Options {
		return sign.Options{Passphrase: func(file string) ([]byte, error) {
			if file != key {
				t.Errorf("asked for %s", file)
			}
			return []byte(secret), err
		}}
	}
	if armored, _, err := sign.Sign(t.Context(), statement, key, says("correct horse", nil)); err != nil || theRealAccepts(t, key, statement, armored) != nil {
		t.Error(err)
	}
	if _, _, err := sign.Sign(t.Context(), statement, key, says("wrong", nil)); sdk.CodeOf(err) != sdk.Unauthorized || strings.Contains(err.Error(), "wrong") {
		t.Errorf("%v", err)
	}
	gone := errors.New("no terminal")
	if _, _, err := sign.Sign(t.Context(), statement, key, says("", gone)); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
}

func TestKeysRefused(t *testing.T) {
	dir := t.TempDir()
	junk := filepath.Join(dir, "junk")
	if err := os.WriteFile(junk, []byte("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		filepath.Join(dir, "none"):               "cannot read the key",
		junk:                                     "neither an OpenSSH private key",
		newKey(t, "", "-t", "rsa", "-b", "2048"): "an RSA key of 2048 bits; 3072 are needed",
		newKey(t, "", "-t", "ed25519") + ".pub":  "none is running",
	} {
		if armored, _, err := sign.Sign(t.Context(), statement, file, sign.Options{}); err == nil || armored != nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", file, err)
		}
	}
	weak := byTheReal(t, newKey(t, "", "-t", "rsa", "-b", "1024"), sign.Namespace)
	if _, err := sign.Verify(statement, weak); sdk.CodeOf(err) != sdk.Unauthorized || !strings.Contains(err.Error(), "1024 bits") {
		t.Errorf("%v", err)
	}
	other := byTheReal(t, newKey(t, "", "-t", "ed25519"), "git")
	if _, err := sign.Verify(statement, other); sdk.CodeOf(err) != sdk.Unauthorized || !strings.Contains(err.Error(), `for "git", not for a plugin`) {
		t.Errorf("%v", err)
	}
}

// A certificate names a key and who vouches for it. Nobody here knows the latter.
func TestCertificateRefused(t *testing.T) {
	ca, key := newKey(t, "", "-t", "ed25519"), newKey(t, "", "-t", "ed25519")
	if out, err := keygen(t, nil, "-q", "-s", ca, "-I", "author", "-n", "author", key+".pub"); err != nil {
		t.Fatal(out)
	}
	if err := os.Rename(key+"-cert.pub", key+".pub"); err != nil {
		t.Fatal(err)
	}
	armored := byTheReal(t, key, sign.Namespace)
	if _, err := sign.Verify(statement, armored); sdk.CodeOf(err) != sdk.Unauthorized || !strings.Contains(err.Error(), "cert-v01") {
		t.Errorf("%v", err)
	}
}
