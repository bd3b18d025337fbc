package engine_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/internal/attack"
)

// TestAttacksSnapshots restores processes for real, which needs runsc; e2e/gvisor.sh runs it.
func TestAttacksSnapshots(t *testing.T) {
	if os.Getenv("SEER_TEST_GVISOR") == "" {
		t.Skip("SEER_TEST_GVISOR is not set: runsc takes minutes to build")
	}
	attack.Run(t, []attack.Row{
		{Name: "snapshot-has-a-strangers-processes", Isolation: "gvisor", Want: "whom you do not trust", Try: func(t *testing.T, defended bool) error {
			return restoreOf(t, defended, func(data []byte) []byte { return data })
		}},
		{Name: "snapshot-without-a-signature", Isolation: "gvisor", Want: "it is not signed", Try: func(t *testing.T, defended bool) error {
			return restoreOf(t, defended, func(data []byte) []byte {
				return rewritten(t, data, `"dev.seer.snapshot.signature":`, `"dev.seer.snapshot.signature-":`, `"dev.seer.snapshot.signed-name":`, `"dev.seer.snapshot.signed-name-":`)
			})
		}},
	})
}

// processes is an experiment whose processes can be saved.
var processes = map[string]string{"seer.yaml": "name: t\nsandbox: {isolation: gvisor, network: none, timeout: 10m}\n"}

const beating = `import time
while True:
    open("/workspace/alive", "w").write(str(time.time()))
    time.sleep(0.05)`

func tools(t *testing.T, o *engine.Options) {
	t.Helper()
	bin, err := filepath.Abs("../bin")
	if err != nil {
		t.Fatal(err)
	}
	o.ToolDirs = []string{bin}
}

// restoreOf restores, as the victim, what a stranger has saved and changed. It is nil if
// the stranger's process goes on.
func restoreOf(t *testing.T, defended bool, change func([]byte) []byte) error {
	stranger := newEngine(t, func(o *engine.Options) { tools(t, o); o.DataDir = t.TempDir() })
	exp := load(t, processes)
	s := up(t, stranger, exp, engine.UpOptions{Attached: time.Minute})
	if _, err := s.Exec(t.Context(), protocol.ProcessSpec{Shell: "python3 -c '" + beating + "' >/dev/null 2>&1 & sleep 1"}, nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Save(t.Context(), s.ID(), engine.SaveOptions{Name: "gift", Memory: true}); err != nil {
		t.Fatal(err)
	}
	victim := newEngine(t, func(o *engine.Options) { tools(t, o); o.DataDir = t.TempDir() })
	if !defended {
		victim.Unguard()
	}
	imported(t, victim, change(exportedOf(t, stranger, "gift")), "")
	copy, err := victim.Up(t.Context(), exp, engine.UpOptions{Attached: time.Minute, Snapshot: "gift"})
	if err != nil {
		return err
	}
	defer copy.Terminate(context.Background())
	return goesOn(t, copy)
}

// goesOn waits until the process writes again.
func goesOn(t *testing.T, s *engine.Sandbox) error {
	t.Helper()
	first := ""
	for t.Context().Err() == nil {
		data, err := s.ReadFile(t.Context(), "/workspace/alive")
		if err != nil {
			return err
		}
		if text := string(data); first == "" {
			first = text
		} else if text != "" && text != first {
			return nil
		}
	}
	return errors.New("the process does not go on")
}

func exportedOf(t *testing.T, e *engine.Engine, name string) []byte {
	t.Helper()
	store, err := e.Snapshots()
	var out bytes.Buffer
	if err == nil {
		err = store.Export(t.Context(), name, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func imported(t *testing.T, e *engine.Engine, data []byte, name string) snapshot.Snapshot {
	t.Helper()
	store, err := e.Snapshots()
	if err != nil {
		t.Fatal(err)
	}
	saved, err := store.Import(t.Context(), bytes.NewReader(data), name)
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

// rewritten replaces texts in the manifest and the index of an exported snapshot, as
// whoever sends it may.
func rewritten(t *testing.T, data []byte, pairs ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	files, w := map[string][]byte{}, tar.NewWriter(&out)
	var order []string
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		body, err2 := io.ReadAll(r)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		files[h.Name], order = body, append(order, h.Name)
	}
	manifest := order[2] // after oci-layout and index.json
	changed := strings.NewReplacer(pairs...).Replace(string(files[manifest]))
	name := "blobs/sha256/" + sha(changed)
	files["index.json"] = []byte(strings.NewReplacer(append(pairs, filepath.Base(manifest), sha(changed), fmt.Sprintf(`"size":%d`, len(files[manifest])), fmt.Sprintf(`"size":%d`, len(changed)))...).Replace(string(files["index.json"])))
	delete(files, manifest)
	files[name], order[2] = []byte(changed), name
	for _, name := range order {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(files[name])), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(files[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// savedMemory is a snapshot with the form of saved processes.
func savedMemory(t *testing.T, e *engine.Engine, name, content string) snapshot.Snapshot {
	t.Helper()
	store, err := e.Snapshots()
	if err != nil {
		t.Fatal(err)
	}
	saved, err := store.Save(t.Context(), snapshot.Meta{Name: name, Kind: snapshot.Memory}, []snapshot.Source{{
		Name: "memory/machine.json", Opaque: true, Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

// TestSignaturesOfProcesses tries what passes a snapshot off as somebody's who is trusted.
func TestSignaturesOfProcesses(t *testing.T) {
	own, other := newEngine(t, func(o *engine.Options) { o.DataDir = t.TempDir() }), newEngine(t, func(o *engine.Options) { o.DataDir = t.TempDir() })
	exp, err := experiment.Parse([]byte("sandbox: {isolation: gvisor, network: none}\n"), filepath.Join(t.TempDir(), "seer.yaml"), experiment.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	restored := func(name string) error {
		_, err := own.Up(t.Context(), exp, engine.UpOptions{Snapshot: name})
		return err
	}
	refused := func(what, name, want string) {
		t.Helper()
		if err := restored(name); engine.KindOf(err) != engine.KindUntrusted || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	accepted := func(what, name string) { // it then fails, for there are no processes in it
		t.Helper()
		if err := restored(name); err == nil || engine.KindOf(err) == engine.KindUntrusted {
			t.Errorf("%s: %v", what, err)
		}
	}
	savedMemory(t, own, "mine", "{}")
	accepted("the user's own", "mine")
	store, err := own.Snapshots()
	if err != nil {
		t.Fatal(err)
	}

	// An older one under the name of a newer one, and under another name.
	old := exportedOf(t, own, "mine")
	if err := store.Remove(t.Context(), "mine"); err != nil {
		t.Fatal(err)
	}
	imported(t, own, rewritten(t, old, `"org.opencontainers.image.ref.name":"mine"`, `"org.opencontainers.image.ref.name":"newer"`), "")
	refused("an older one", "newer", "signed under another name, mine")
	imported(t, own, rewritten(t, old, `"org.opencontainers.image.ref.name":"mine"`, `"org.opencontainers.image.ref.name":"forged"`, `"signed-name":"mine"`, `"signed-name":"forged"`,
		`"dev.seer.snapshot.signed-name":"mine"`, `"dev.seer.snapshot.signed-name":"forged"`), "")
	refused("an older one, whose signature says the new name", "forged", "this is not what was signed")
	imported(t, own, old, "renamed")
	refused("imported under another name", "renamed", "signed under another name")
	if _, err := own.SignSnapshot(t.Context(), "renamed"); err != nil {
		t.Fatal(err)
	}
	accepted("signed again", "renamed")

	// Another's, before and after that one is trusted.
	savedMemory(t, other, "theirs", "{}")
	theirs := exportedOf(t, other, "theirs")
	imported(t, own, theirs, "")
	refused("a stranger's", "theirs", "whom you do not trust")
	signers, err := other.Signers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := own.TrustSigner(t.Context(), signers.Own, true); err != nil {
		t.Fatal(err)
	}
	accepted("a trusted signer's", "theirs")
	if err := own.TrustSigner(t.Context(), signers.Own, false); err != nil {
		t.Fatal(err)
	}
	refused("of one who is trusted no longer", "theirs", "whom you do not trust")

	// The same name and signature on other content, and content with a changed byte.
	savedMemory(t, other, "swapped", `{"evil":1}`)
	evil := exportedOf(t, other, "swapped")
	swapped := rewritten(t, evil, signatureIn(t, evil), signatureIn(t, theirs))
	imported(t, own, swapped, "")
	refused("another's signature", "swapped", "signed")
	damaged := bytes.Clone(theirs)
	damaged[bytes.LastIndex(damaged, []byte("\x28\xb5\x2f\xfd"))+6] ^= 1 // in the compressed content
	if _, err := store.Import(t.Context(), bytes.NewReader(damaged), "damaged"); err == nil {
		t.Error("a changed byte was imported")
	}
}

func signatureIn(t *testing.T, data []byte) string {
	t.Helper()
	const key = `"dev.seer.snapshot.signature":"`
	_, rest, ok := strings.Cut(string(data), key)
	text, _, closed := strings.Cut(rest, `"`)
	if !ok || !closed {
		t.Fatal("there is no signature in the file")
	}
	return text
}

// A snapshot of files with set-user bits, other owners and devices puts none of them into
// a sandbox.
func TestHostileFilesOfSnapshots(t *testing.T) {
	e := newEngine(t, func(o *engine.Options) { o.DataDir = t.TempDir() })
	store, err := e.Snapshots()
	if err != nil {
		t.Fatal(err)
	}
	var stream bytes.Buffer
	w := tar.NewWriter(&stream)
	for _, h := range []tar.Header{
		{Typeflag: tar.TypeReg, Name: "shell", Mode: 0o4755, Uid: 0, Gid: 0, Size: 1},
		{Typeflag: tar.TypeReg, Name: "group", Mode: 0o2755, Uid: 33, Gid: 33, Size: 1},
		{Typeflag: tar.TypeDir, Name: "sticky/", Mode: 0o7777},
		{Typeflag: tar.TypeChar, Name: "memory", Mode: 0o666, Devmajor: 1, Devminor: 1},
		{Typeflag: tar.TypeSymlink, Name: "link", Linkname: "/etc/passwd"},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, h.Size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Save(t.Context(), snapshot.Meta{Name: "hostile", Kind: snapshot.FileSystem}, []snapshot.Source{{
		Name: "workspace", Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(&stream), nil }}}); err != nil {
		t.Fatal(err)
	}
	data := exportedOf(t, e, "hostile")
	if err := store.Remove(t.Context(), "hostile"); err != nil {
		t.Fatal(err)
	}
	imported(t, e, data, "")
	s := up(t, e, load(t, map[string]string{"seer.yaml": "name: t\nsandbox: {network: none}\n"}), engine.UpOptions{Attached: time.Minute, Snapshot: "hostile"})
	if got := shell(t, s, "find /workspace -perm /7000 -o -type c -o -type b; stat -c '%a %U' shell group; readlink link"); strings.Contains(got, "/workspace") || !strings.Contains(got, "755") || !strings.Contains(got, "/etc/passwd") {
		t.Errorf("got %s", got)
	}
}
