package sign_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/ssh"
	agents "golang.org/x/crypto/ssh/agent"

	"github.com/seer-engine/seer/engine/plugin/sign"
	"github.com/seer-engine/seer/internal/testkit"
)

// token is an agent with one key in hardware, as FIDO has it: what is signed is not the
// message alone but also the application, that somebody was there, and a counter.
type token struct {
	agents.ExtendedAgent
	key ed25519.PrivateKey
	pub ssh.PublicKey
}

func newToken(t *testing.T) token {
	t.Helper()
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := ssh.ParsePublicKey(ssh.Marshal(struct {
		Type        string
		Key         []byte
		Application string
	}{ssh.KeyAlgoSKED25519, pub, "ssh:"}))
	if err != nil {
		t.Fatal(err)
	}
	return token{agents.NewKeyring().(agents.ExtendedAgent), key, parsed}
}

func (a token) List() ([]*agents.Key, error) {
	return []*agents.Key{{Format: a.pub.Type(), Blob: a.pub.Marshal()}}, nil
}

func (a token) Sign(_ ssh.PublicKey, data []byte) (*ssh.Signature, error) {
	app, sum := sha256.Sum256([]byte("ssh:")), sha256.Sum256(data)
	rest := []byte{1, 0, 0, 0, 7} // touched, for the seventh time
	return &ssh.Signature{
		Format: a.pub.Type(), Rest: rest,
		Blob: ed25519.Sign(a.key, bytes.Join([][]byte{app[:], rest, sum[:]}, nil)),
	}, nil
}

func (a token) SignWithFlags(pub ssh.PublicKey, data []byte, _ agents.SignatureFlags) (*ssh.Signature, error) {
	return a.Sign(pub, data)
}

func TestHardwareKey(t *testing.T) {
	a := newToken(t)
	dir := testkit.ShortDir(t)
	testkit.Serve(testkit.Listen(t, "unix", filepath.Join(dir, "s")), func(conn net.Conn) { _ = agents.ServeAgent(a, conn) })
	key := filepath.Join(dir, "id_sk")
	if err := os.WriteFile(key+".pub", ssh.MarshalAuthorizedKey(a.pub), 0o600); err != nil {
		t.Fatal(err)
	}
	armored, signer, err := sign.Sign(t.Context(), statement, key+".pub", sign.Options{Agent: filepath.Join(dir, "s")})
	if err != nil || signer != (sign.Signer{Fingerprint: ssh.FingerprintSHA256(a.pub), Type: "sk-ssh-ed25519@openssh.com"}) {
		t.Fatal(signer, err)
	}
	if err := theRealAccepts(t, key, statement, armored); err != nil {
		t.Error(err)
	}
	block, _ := pem.Decode(armored)
	for i := range block.Bytes { // flags and counter too
		changed := bytes.Clone(block.Bytes)
		changed[i] ^= 1
		if _, err := sign.Verify(statement, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: changed})); err == nil {
			t.Errorf("byte %d does not count", i)
		}
	}
}
