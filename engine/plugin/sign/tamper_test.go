package sign_test

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha512"
	"encoding/pem"
	"os"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/engine/plugin/sign"
	"github.com/seer-engine/seer/sdk"
)

func TestEveryByteCounts(t *testing.T) {
	key := newKey(t, "", "-t", "ed25519")
	for who, armored := range map[string][]byte{"the real": byTheReal(t, key, sign.Namespace), "ours": ours(t, key)} {
		if _, err := sign.Verify(statement, armored); err != nil {
			t.Fatal(err)
		}
		for i := range armored {
			changed := bytes.Clone(armored)
			changed[i] ^= 1 << (i % 7) // each of a letter's bits in turn
			if _, err := sign.Verify(statement, changed); err == nil {
				t.Errorf("%s: byte %d as %q instead of %q is accepted", who, i, changed[i], armored[i])
			}
			if _, err := sign.Verify(statement, armored[:i]); err == nil && i < len(armored)-1 {
				t.Errorf("%s: %d of %d bytes are accepted", who, i, len(armored))
			}
		}
		for i := range statement {
			changed := bytes.Clone(statement)
			changed[i] ^= 1
			if _, err := sign.Verify(changed, armored); sdk.CodeOf(err) != sdk.Unauthorized {
				t.Errorf("%s: the statement's byte %d does not count", who, i)
			}
		}
		for name, more := range map[string][]byte{
			"before": append([]byte("hello\n"), armored...), "after": append(bytes.Clone(armored), "hello"...),
			"twice":   append(bytes.Clone(armored), armored...),
			"headers": bytes.Replace(armored, []byte("-----\n"), []byte("-----\nKey: value\n\n"), 1),
			"huge":    append(bytes.Clone(armored), make([]byte, bundle.MaxSignature)...), "nothing": nil,
		} {
			if _, err := sign.Verify(statement, more); sdk.CodeOf(err) != sdk.Unauthorized {
				t.Errorf("%s, %s: %v", who, name, err)
			}
		}
	}
}

func ours(t *testing.T, key string) []byte {
	t.Helper()
	armored, _, err := sign.Sign(t.Context(), statement, key, sign.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return armored
}

// The wire form, for what no honest program writes. PROTOCOL.sshsig of OpenSSH.
type wire struct {
	Magic     [6]byte
	Version   uint32
	PublicKey []byte
	Namespace string
	Reserved  string
	Hash      string
	Signature []byte
}

type signed struct {
	Magic                          [6]byte
	Namespace, Reserved, Hash, Sum string
}

var magic = [6]byte{'S', 'S', 'H', 'S', 'I', 'G'}

func TestForged(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 3072)
	if err != nil {
		t.Fatal(err)
	}
	pub, err := ssh.NewPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha512.Sum512(statement)
	message := ssh.Marshal(signed{magic, sign.Namespace, "", "sha512", string(sum[:])})
	forge := func(format string, hash crypto.Hash, change func(*wire)) []byte {
		h := hash.New()
		h.Write(message)
		raw, err := rsa.SignPKCS1v15(rand.Reader, key, hash, h.Sum(nil))
		if err != nil {
			t.Fatal(err)
		}
		w := wire{magic, 1, pub.Marshal(), sign.Namespace, "", "sha512", ssh.Marshal(ssh.Signature{Format: format, Blob: raw})}
		change(&w)
		return pem.EncodeToMemory(&pem.Block{Type: "SSH SIGNATURE", Bytes: ssh.Marshal(w)})
	}
	same := func(*wire) {}
	for _, format := range []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256} {
		hash := map[string]crypto.Hash{ssh.KeyAlgoRSASHA512: crypto.SHA512, ssh.KeyAlgoRSASHA256: crypto.SHA256}[format]
		if _, err := sign.Verify(statement, forge(format, hash, same)); err != nil {
			t.Fatalf("the forger's tool does not work: %v", err) // else what follows says nothing
		}
	}
	_ = sha1.New // linked in, so that it could be used
	for name, armored := range map[string][]byte{
		"SHA-1":            forge(ssh.KeyAlgoRSA, crypto.SHA1, same),
		"SHA-1 as SHA-512": forge(ssh.KeyAlgoRSASHA512, crypto.SHA1, same),
		"reserved":         forge(ssh.KeyAlgoRSASHA512, crypto.SHA512, func(w *wire) { w.Reserved = "smuggled" }),
		"version":          forge(ssh.KeyAlgoRSASHA512, crypto.SHA512, func(w *wire) { w.Version = 2 }),
		"magic":            forge(ssh.KeyAlgoRSASHA512, crypto.SHA512, func(w *wire) { w.Magic[0] = 's' }),
		"weak hash":        forge(ssh.KeyAlgoRSASHA512, crypto.SHA512, func(w *wire) { w.Hash = "sha1" }),
		"other hash":       forge(ssh.KeyAlgoRSASHA512, crypto.SHA512, func(w *wire) { w.Hash = "sha256" }),
		"no namespace":     forge(ssh.KeyAlgoRSASHA512, crypto.SHA512, func(w *wire) { w.Namespace = "" }),
		"trailing":         forge(ssh.KeyAlgoRSASHA512, crypto.SHA512, func(w *wire) { w.Signature = append(w.Signature, 0) }),
		"somebody else":    forge(ssh.KeyAlgoRSASHA512, crypto.SHA512, func(w *wire) { w.PublicKey = somebody(t) }),
		"DSA":              forge(ssh.KeyAlgoRSASHA512, crypto.SHA512, func(w *wire) { w.PublicKey = ssh.Marshal(struct{ Type string }{"ssh-dss"}) }),
	} {
		if _, err := sign.Verify(statement, armored); sdk.CodeOf(err) != sdk.Unauthorized {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func somebody(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(newKey(t, "", "-t", "ed25519") + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	pub, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return pub.Marshal()
}

const example = `-----BEGIN SSH SIGNATURE-----
U1NIU0lHAAAAAQAAAGgAAAATZWNkc2Etc2hhMi1uaXN0cDI1NgAAAAhuaXN0cDI1NgAAAE
EEOIYuWF0v/w8XVrOLUa30nMhLwiXdsf4aow88kfpnfA/Zn+Xhr9nRh97etNV1/Kqv1VE/
On/YH+094IhlatyELQAAAARmaWxlAAAAAAAAAAZzaGE1MTIAAABkAAAAE2VjZHNhLXNoYT
ItbmlzdHAyNTYAAABJAAAAIBXp90537Om8Xbv0iTxVwvSyiZmhAca7kPt0uSg0IVtTAAAA
IQCbN+co4miAJ7t9XLIQuOaOQCM5P0AxRCdsMG4eBnAL0w==
-----END SSH SIGNATURE-----
`

// FuzzVerify: whatever it is fed, it ends, and accepts nothing: nobody has signed this.
func FuzzVerify(f *testing.F) {
	f.Add([]byte(example), false)
	block, _ := pem.Decode([]byte(example))
	f.Add(block.Bytes, true)
	f.Fuzz(func(t *testing.T, data []byte, raw bool) {
		if raw {
			data = pem.EncodeToMemory(&pem.Block{Type: "SSH SIGNATURE", Bytes: data})
		}
		if signer, err := sign.Verify([]byte("nobody has signed this"), data); err == nil || signer != (sign.Signer{}) || strings.Contains(err.Error(), "\x1b") {
			t.Fatalf("%+v, %v", signer, err)
		}
	})
}
