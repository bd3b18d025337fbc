package snapshot_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// What another program removes while it is read is not damaged.
func TestRemovedIsNotDamaged(t *testing.T) {
	s := newStore(t)
	opaque := source("opaque", []byte("text"))
	opaque.Opaque = true
	store := func() snapshot.Snapshot {
		t.Helper()
		sn, err := s.Save(t.Context(), meta("x"), []snapshot.Source{source("workspace", archive(t, file("f", "text"))), opaque})
		if err != nil {
			t.Fatal(err)
		}
		return sn
	}
	remove := func() {
		t.Helper()
		if err := s.Remove(context.Background(), "x"); err != nil {
			t.Error(err)
		}
	}
	wantRemoved := func(what string, err error) {
		t.Helper()
		if sdk.CodeOf(err) != sdk.NotFound || !strings.Contains(fmt.Sprint(err), "the snapshot x was removed while it was read") {
			t.Errorf("%s: %v", what, err)
		}
	}
	store()
	wantRemoved("verify", s.Verify(testkit.AskedContext{Context: t.Context(), Asked: sync.OnceFunc(remove)}, "x"))
	for _, name := range []string{"workspace", "opaque"} {
		sn := store()
		remove()
		_, err := s.Place(t.Context(), sn, name, filepath.Join(t.TempDir(), "placed"))
		wantRemoved(name, err)
	}
}

// TestDamage changes, cuts and removes each file of a store.
func TestDamage(t *testing.T) {
	for _, how := range []string{"other", "cut", "gone"} {
		s := newStore(t)
		save(t, s, "fine", file("other", "1"))
		m := meta("x")
		m.Sandbox = "sb-2"
		sn, err := s.Save(t.Context(), m, []snapshot.Source{source("workspace", archive(t, file("f", noise(t, 5000))))})
		if err != nil {
			t.Fatal(err)
		}
		for what, digest := range map[string]string{"document": sn.ID, "index": sn.Trees[0].Index.Digest, "layer": sn.Trees[0].Layers[0].Digest} {
			at := filepath.Join(s.Dir, "blobs", digest[7:])
			data, err := os.ReadFile(at)
			if err != nil {
				t.Fatal(err)
			}
			switch how {
			case "other":
				other := bytes.Clone(data)
				other[len(other)/2] ^= 1
				err = os.WriteFile(at, other, 0o600)
			case "cut":
				err = os.WriteFile(at, data[:len(data)-1], 0o600)
			case "gone":
				err = os.Remove(at)
			}
			if err != nil {
				t.Fatal(err)
			}
			for op, err := range map[string]error{"verify": s.Verify(t.Context(), "x"), "export": s.Export(t.Context(), "x", io.Discard)} {
				if sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(fmt.Sprint(err), "the snapshot x is damaged") || !strings.Contains(fmt.Sprint(err), digest) {
					t.Errorf("%s %s, %s: %v", what, how, op, err)
				}
			}
			all, err := s.List(t.Context())
			if err != nil || len(all) != 2 || (all[0].Damaged == "" && all[1].Damaged == "") != (how == "other" && what != "document") {
				t.Errorf("%s %s: %+v, %v", what, how, all, err)
			}
			if err := s.Verify(t.Context(), "fine"); err != nil {
				t.Errorf("another one: %v", err)
			}
			if err := os.WriteFile(at, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Truncate(filepath.Join(s.Dir, "blobs", sn.ID[7:]), 3); err != nil {
			t.Fatal(err)
		}
		if err := s.Sweep(t.Context()); err == nil || !strings.Contains(err.Error(), "x is damaged") {
			t.Errorf("swept beside a damaged one: %v", err)
		}
		if err := s.Remove(t.Context(), "x"); err != nil {
			t.Error(err)
		}
		if got := filesIn(t, s); got != "names 1 blobs 3 tmp 0" {
			t.Error(got)
		}
	}
}

// A file that cannot be read, such as one of another user, is no damage: the advice to remove the
// snapshot would cost a whole one.
func TestUnreadable(t *testing.T) {
	s := newStore(t)
	sn := save(t, s, "x", file("f", "1"))
	for what, digest := range map[string]string{"document": sn.ID, "layer": sn.Trees[0].Layers[0].Digest} {
		at := filepath.Join(s.Dir, "blobs", digest[7:])
		if err := errors.Join(os.Rename(at, at+".away"), os.Symlink(at, at)); err != nil {
			t.Fatal(err)
		}
		for op, err := range map[string]error{"verify": s.Verify(t.Context(), "x"), "export": s.Export(t.Context(), "x", io.Discard)} {
			said := fmt.Sprint(err)
			if !errors.Is(err, syscall.ELOOP) || strings.Contains(said, "damaged") || strings.Contains(said, "remove") || !strings.HasPrefix(said, "the snapshot x cannot be read: its ") {
				t.Errorf("%s, %s: %v", what, op, err)
			}
		}
		if err := os.Rename(at+".away", at); err != nil {
			t.Fatal(err)
		}
		if err := s.Verify(t.Context(), "x"); err != nil {
			t.Error(err)
		}
	}
}

func TestExportAndImport(t *testing.T) {
	s := newStore(t)
	save(t, s, "one", dir("d"), file("d/f", "1"), file("g", noise(t, 2<<20)))
	two := save(t, s, "two", dir("d"), file("d/f", "2"), link("l", "d"))
	data := exported(t, s, "two")
	other := newStore(t)
	for _, name := range []string{"", "", "renamed"} { // the same once more is no mistake
		sn, err := other.Import(t.Context(), bytes.NewReader(data), name)
		if err != nil || sn.ID != two.ID || sn.Name != "two" && name == "" || sn.Sandbox != "sb-1" {
			t.Fatalf("%+v, %v", sn, err)
		}
	}
	if got := restored(t, other, "renamed", "workspace"); got != restored(t, s, "two", "workspace") {
		t.Error(got)
	}
	if !bytes.Equal(exported(t, other, "two"), data) {
		t.Error("it is exported in another way")
	}
	one := exported(t, s, "one")
	var taken *snapshot.ExistsError
	if _, err := other.Import(t.Context(), bytes.NewReader(one), "two"); !errors.As(err, &taken) {
		t.Error(err)
	}
	if got := filesIn(t, other); got != "names 2 blobs 4 tmp 0" {
		t.Error(got)
	}
}

// TestFilesFromElsewhere imports what is no whole snapshot. Nothing of it is kept.
func TestFilesFromElsewhere(t *testing.T) {
	s := newStore(t)
	save(t, s, "x", dir("d"), file("d/f", "1"), file("g", noise(t, 20_000)))
	good := exported(t, s, "x")
	other := newStore(t)
	refuse := func(name string, data []byte, text string) {
		t.Helper()
		_, err := other.Import(t.Context(), bytes.NewReader(data), "")
		if c := sdk.CodeOf(err); c != sdk.Invalid && c != sdk.Unsupported || !strings.Contains(err.Error(), text) || !strings.HasPrefix(err.Error(), "this is not a snapshot that can be imported: ") {
			t.Errorf("%s: %s %v", name, c, err)
		}
		if got := filesIn(t, other); got != "names 0 blobs 0 tmp 0" {
			t.Fatalf("%s: kept: %s", name, got)
		}
	}
	for _, n := range []int{0, 1, 511, 512, 700, len(good) / 2, len(good) - 1025, len(good) - 1024, len(good) - 512} {
		refuse(fmt.Sprintf("%d of %d bytes", n, len(good)), good[:n], "")
	}
	for at := 100; at < len(good)-1024; at += 997 {
		bad := bytes.Clone(good)
		bad[at] ^= 0x40
		if _, err := other.Import(t.Context(), bytes.NewReader(bad), "x"); err == nil { // in a header's padding or date
			if err := errors.Join(other.Verify(t.Context(), "x"), other.Remove(t.Context(), "x")); err != nil {
				t.Errorf("byte %d: %v", at, err)
			}
		}
	}
	refuse("text", []byte(strings.Repeat("hello ", 500)), "not a tar file")
	refuse("zip", append([]byte("PK\x03\x04"), make([]byte, 600)...), "not a tar file")
	refuse("nothing", make([]byte, 1024), "it is empty")
	edit := func(each func(h *tar.Header, body string) []item) []byte {
		var items []item
		for r := tar.NewReader(bytes.NewReader(good)); ; {
			h, err := r.Next()
			if err != nil {
				return archive(t, items...)
			}
			body, _ := io.ReadAll(r)
			items = append(items, each(h, string(body))...)
		}
	}
	same := func(h *tar.Header, body string) []item { return []item{{*h, body}} }
	more := func(extra item) []byte {
		return edit(func(h *tar.Header, body string) []item {
			if h.Name == "oci-layout" {
				return []item{extra, {*h, body}}
			}
			return same(h, body)
		})
	}
	if _, err := other.Import(t.Context(), bytes.NewReader(more(dir("blobs"))), ""); err != nil {
		t.Errorf("packed by another program: %v", err)
	}
	if err := other.Remove(t.Context(), "x"); err != nil {
		t.Error(err)
	}
	for _, bad := range []item{file("../x", ""), file("blobs/sha256/../../x", ""), file("/etc/passwd", ""), link("blobs", "/tmp"), hard("oci-layout2", "oci-layout"), dir("names"),
		file("blobs/sha256/"+strings.Repeat("0", 64)+"/x", ""), file("oci-layout", `{"imageLayoutVersion":"1.0.0"}`), special("blobs/sha256/x", tar.TypeFifo, 0)} {
		refuse(bad.Name, more(bad), "which no snapshot has")
	}
	refuse("a wrong digest", more(file("blobs/sha256/"+strings.Repeat("0", 64), "x")), "has other bytes")
	refuse("of petabytes", hugeHeader(t), "which no snapshot has")
	refuse("without a layer", edit(func(h *tar.Header, body string) []item {
		if h.Size > 10_000 {
			return nil
		}
		return same(h, body)
	}), "is missing")
	refuse("another layout", edit(func(h *tar.Header, body string) []item {
		return same(h, strings.ReplaceAll(body, `"imageLayoutVersion":"1.0.0"`, `"imageLayoutVersion":"9.0.0"`))
	}), "version")
	refuse("a name that is a path", edit(func(h *tar.Header, body string) []item {
		return same(h, strings.ReplaceAll(body, `"org.opencontainers.image.ref.name":"x"`, `"org.opencontainers.image.ref.name":"../x"`))
	}), "give it another one")
	for name, tc := range map[string]struct{ doc, text string }{
		"a later version": {`{"seer_snapshot":2}`, "reads version 1"},
		"an unknown kind": {`{"seer_snapshot":1,"kind":"dream"}`, "of the kind"},
		"a path as tree":  {`{"seer_snapshot":1,"kind":"fs","trees":[{"name":"../x"}]}`, "not a name for a part"},
		"a path as part":  {`{"seer_snapshot":1,"kind":"fs","trees":[{"name":"x","index":{"digest":"sha256:../../x"}}]}`, "cannot be"},
		"no part":         {`{"seer_snapshot":1,"kind":"fs","trees":[{"name":"x","index":{"digest":"sha256:` + strings.Repeat("1", 64) + `"}}]}`, "is missing"},
		"half a sum":      {`{"seer_snapshot":1,"kind":"memory","blobs":[` + plainBlob("x", "12") + `]}`, "cannot be"},
		"an escape":       {`{"seer_snapshot":1,"kind":"fs","description":"\u001b[2J"}`, "cannot be printed"},
		"no JSON":         {`{`, "cannot be read"},
	} {
		refuse(name, layout(t, "application/vnd.seer.snapshot.v1", tc.doc), tc.text)
	}
	refuse("another sum", layout(t, "application/vnd.seer.snapshot.v1", `{"seer_snapshot":1,"kind":"memory","blobs":[`+plainBlob("x", strings.Repeat("0", 32))+`]}`, "x"), "has not the sum")
	refuse("an image", layout(t, "", "{}"), "not a Seer snapshot")
}

// plainBlob is one that is kept as it is, in a document.
func plainBlob(data, xxh3 string) string {
	return fmt.Sprintf(`{"name":"memory/pages.img","part":{"digest":"sha256:%s","size":%d},"digest":"sha256:%[1]s","bytes":%[2]d,"xxh3":%[3]q}`, sum(data), len(data), xxh3)
}

func sum(data string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(data))) }

// layout makes an OCI layout around a document and more blobs.
func layout(t *testing.T, artifact, doc string, blobs ...string) []byte {
	config := "application/vnd.seer.snapshot.config.v1+json"
	manifest, err := json.Marshal(map[string]any{"schemaVersion": 2, "artifactType": artifact,
		"config": map[string]any{"mediaType": config, "digest": "sha256:" + sum(doc), "size": len(doc)}})
	if err != nil {
		t.Fatal(err)
	}
	index := fmt.Sprintf(`{"schemaVersion":2,"manifests":[{"digest":"sha256:%s","size":%d,"annotations":{"org.opencontainers.image.ref.name":"evil"}}]}`, sum(string(manifest)), len(manifest))
	items := []item{file("blobs/sha256/"+sum(doc), doc), file("blobs/sha256/"+sum(string(manifest)), string(manifest)), file("index.json", index), file("oci-layout", `{"imageLayoutVersion":"1.0.0"}`)}
	for _, b := range blobs {
		items = append(items, file("blobs/sha256/"+sum(b), b))
	}
	return archive(t, items...)
}

// TestHostileSnapshots has digests that are all right, and contents that are not.
func TestHostileSnapshots(t *testing.T) {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	layer := string(z.EncodeAll(archive(t, file("f", "evil"), file("f", "evil"), file("big", "x")), nil))
	line := func(path, kind, more string) string {
		return fmt.Sprintf(`{"path":%q,"type":%q,"mode":420,"mtime":0%s}`, path, kind, more) + "\n"
	}
	hash := func(body string) string { return fmt.Sprintf(`,"size":%d,"sha256":%q`, len(body), sum(body)) }
	for name, tc := range map[string]struct{ lines, text string }{
		"up":                {line("../x", "dir", ""), "leads out"},
		"absolute":          {line("/x", "dir", ""), "leads out"},
		"not clean":         {line("a//x", "dir", ""), "leads out"},
		"raw and up":        {`{"path":"","path_bytes":"Li4veA==","type":"dir","mode":0,"mtime":0}` + "\n", "leads out"},
		"below a link":      {line("a", "symlink", `,"link":"/etc"`) + line("a/passwd", "file", hash("evil")), "not a folder"},
		"linked to outside": {line("a", "link", `,"link":"../../x"`), "leads out"},
		"linked to nothing": {line("a", "link", `,"link":"b"`), "not a file of it"},
		"no such layer":     {line("f", "file", hash("evil")+`,"layer":7`), "cannot be"},
		"a device":          {line("a", "device", ""), "unknown type"},
		"a mode":            {strings.Replace(line("a", "dir", ""), "420", "99999", 1), "cannot be"},
		"no JSON":           {"x\n", "cannot be read"},
		"a bomb":            {line("f", "file", `,"size":8000000000000000000,"sha256":"`+sum("")+`"`), "more than the 4 bytes"},
		"two bombs":         {line("f", "file", hash("good")) + line("g", "file", hash("evil")), "more than the 4 bytes"},
		"a long line":       {line("a", "symlink", `,"link":"`+strings.Repeat("x", 70_000)+`"`), "cannot be read"},
	} {
		index := string(z.EncodeAll([]byte(tc.lines), nil))
		other := newStore(t)
		_, err := other.Import(t.Context(), bytes.NewReader(evil(t, index, layer, strings.Count(tc.lines, "\n"), 4)), "")
		if sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(fmt.Sprint(err), tc.text) {
			t.Errorf("%s: %v", name, err)
		}
		if got := filesIn(t, other); got != "names 0 blobs 0 tmp 0" {
			t.Errorf("%s: kept: %s", name, got)
		}
	}
	var million strings.Builder
	for n := range 1_000_000 {
		fmt.Fprintf(&million, `{"path":"%d","type":"dir","mode":0,"mtime":0}`+"\n", n)
	}
	other := newStore(t)
	if _, err := other.Import(t.Context(), bytes.NewReader(evil(t, string(z.EncodeAll([]byte(million.String()), nil)), layer, 10, 0)), ""); err == nil || !strings.Contains(err.Error(), "more than the 10 entries") {
		t.Errorf("a million names instead of ten: %v", err)
	}
	// These lie about the content, which is seen when it is given out.
	for name, tc := range map[string]struct{ lines, text string }{
		"another content": {line("f", "file", hash("good")), `"f" has other bytes`},
		"another size":    {line("f", "file", hash("longer")), `"f" has 4 bytes instead of 6`},
		"twice":           {line("f", "file", hash("evil")), "twice"},
		"not there":       {line("nobody", "file", hash("evil")), `"nobody" is not in its layer`},
	} {
		other := newStore(t)
		if _, err := other.Import(t.Context(), bytes.NewReader(evil(t, string(z.EncodeAll([]byte(tc.lines), nil)), layer, 1, 6)), ""); err != nil {
			t.Fatal(err)
		}
		r, err := other.Restore(t.Context(), "evil", "workspace")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, r); sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(fmt.Sprint(err), tc.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func evil(t *testing.T, index, layer string, entries, size int) []byte {
	doc := fmt.Sprintf(`{"seer_snapshot":1,"kind":"fs","created":"2026-01-01T00:00:00Z","trees":[{"name":"workspace","entries":%d,"bytes":%d,"index":{"digest":"sha256:%s","size":%d},"layers":[{"digest":"sha256:%s","size":%d}]}]}`,
		entries, size, sum(index), len(index), sum(layer), len(layer))
	return layout(t, "application/vnd.seer.snapshot.v1", doc, index, layer)
}

// TestFullDisk runs itself with a store on a file system of 1 MiB.
func TestFullDisk(t *testing.T) {
	if os.Getenv("SEER_TEST_FULL") == "" {
		bwrap, err := exec.LookPath("bwrap")
		if err != nil {
			t.Fatal("bubblewrap is needed for this test: apt-get install bubblewrap")
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(bwrap, "--unshare-user", "--ro-bind", "/", "/", "--size", "1048576", "--tmpfs", "/mnt", "--dev", "/dev", "--tmpfs", "/tmp",
			"--ro-bind", self, "/tmp/self", "--setenv", "SEER_TEST_FULL", "1", "/tmp/self", "-test.run=^TestFullDisk$", "-test.v")
		cmd.Dir = "/"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	s := &snapshot.Store{Dir: "/mnt/store"}
	save(t, s, "small", file("f", "1"), file("same", strings.Repeat("x", 2<<20)))
	data := exported(t, newFull(t), "large")
	raw := source("raw", []byte(noise(t, 3<<20)))
	raw.Opaque = true
	for name, src := range map[string]snapshot.Source{
		"streamed": source("workspace", archive(t, file("g", noise(t, 3<<20)))), "held": source("workspace", archive(t, file("same", noise(t, 2<<20)))), "opaque": raw,
	} {
		if _, err := s.Save(t.Context(), meta(name), []snapshot.Source{src}); !errors.Is(err, state.ErrNoSpace) || !strings.Contains(err.Error(), "/mnt/store") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.Import(t.Context(), bytes.NewReader(data), ""); !errors.Is(err, state.ErrNoSpace) {
		t.Errorf("import: %v", err)
	}
	if got := filesIn(t, s); got != "names 1 blobs 3 tmp 0" {
		t.Error(got)
	}
	if err := s.Verify(t.Context(), "small"); err != nil {
		t.Error(err)
	}
}

func newFull(t *testing.T) *snapshot.Store {
	s := newStore(t)
	save(t, s, "large", file("g", noise(t, 3<<20)))
	return s
}

// TestKilled ends savers at several moments. Whatever is to be seen is whole, and what
// they have left is swept.
func TestKilled(t *testing.T) {
	if dir := os.Getenv("SEER_TEST_KILLED"); dir != "" {
		s := &snapshot.Store{Dir: dir}
		for i := range 1000 {
			save(t, s, fmt.Sprintf("s-%d-%d", os.Getpid(), i), file("f", noise(t, 200_000)), file("g", "same"))
		}
		return
	}
	s := newStore(t)
	for i := range 6 {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), "SEER_TEST_KILLED="+s.Dir, "TMPDIR="+t.TempDir())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, "it is at work", func() bool {
			all, _ := s.List(t.Context())
			return len(all) > 2*i
		})
		time.Sleep(time.Duration(7*i) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	save(t, s, "next", file("f", "1"))
	if got := filesIn(t, s); !strings.HasSuffix(got, "tmp 0") {
		t.Errorf("the next save has left %s", got)
	}
	if err := s.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if n := verifyAndRemove(t, s); n == 0 {
		t.Error("no snapshot was left")
	}
}
