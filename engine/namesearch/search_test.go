package namesearch_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/klauspost/compress/zstd"

	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/internal/testkit"
)

const secret = "trained from Zephyr-Quasar 9B by acme"

func names() namesearch.Names {
	return namesearch.Compile(namesearch.Spec{Names: []string{"acme/zephyr-quasar-9b"}, Stay: []string{"llama"}})
}

func wide(text string, order binary.AppendByteOrder) string {
	var out []byte
	for _, u := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, u)
	}
	return string(out)
}

func deflated(text string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

func tarred(name, text string) string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	_ = w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o600})
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

func zst(text string) string {
	w, _ := zstd.NewWriter(nil)
	return string(w.EncodeAll([]byte(text), nil))
}

// piped is what a program of the system makes of a text.
func piped(t testing.TB, text, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	return string(out)
}

func escaped(text, form string) string {
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, form, r)
	}
	return b.String()
}

var b64 = base64.StdEncoding.EncodeToString

func hexed(text string) string { return hex.EncodeToString([]byte(text)) }

// forms are ways to write a text that searching as it stands does not find.
func forms(t testing.TB, text string) map[string]string {
	return map[string]string{
		"UTF-16 LE":             wide(text, binary.LittleEndian),
		"UTF-16 BE":             "\xfe\xff" + wide(text, binary.BigEndian),
		"base64":                "key = " + b64([]byte(text)),
		"base64 in a path":      "/tmp/" + b64([]byte(text)) + "/x",
		"base64 in lines":       strings.Repeat("x\n", 3) + piped(t, strings.Repeat(".", 50)+text, "base64", "-w", "64"),
		"base64 for URLs":       base64.URLEncoding.EncodeToString([]byte("\xff\xfe\xfa" + text)),
		"base64 of UTF-16":      b64([]byte(wide(text, binary.LittleEndian))),
		"base64 of base64":      b64([]byte(b64([]byte(text)))),
		"base64 of gzip":        "data:application/gzip;base64," + b64([]byte(testkit.Gzip(text))),
		"hex":                   "id " + hexed(text),
		"hex, shifted":          "a" + hexed(text),
		"hex, capitals":         strings.ToUpper(hexed(text)),
		"hex, with colons":      strings.TrimSuffix(escaped(text, "%02x:"), ":"),
		"hex of C":              escaped(text, "0x%02x, "),
		"dump of xxd":           piped(t, text, "od", "-An", "-tx1"),
		"percent":               escaped(text, "%%%02X"),
		"JSON":                  `{"a": "` + escaped(text, `\u%04x`) + `"}`,
		"JSON, one":             `"` + strings.Replace(text, "s", `\u0073`, 1) + `"`,
		"Python":                escaped(text, `\x%02x`),
		"Python, octal":         escaped(text, `\%03o`),
		"HTML":                  escaped(text, "&#%d;"),
		"HTML, hex":             escaped(text, "&#x%x;"),
		"gzip":                  testkit.Gzip(text),
		"gzip in gzip":          testkit.Gzip(testkit.Gzip(text)),
		"zlib":                  deflated(text),
		"zip":                   testkit.Zip("a.txt", text),
		"zip, a name":           testkit.Zip(text, "a"),
		"zip in tar":            tarred("a", testkit.Zip("a.txt", text)),
		"tar":                   tarred("a.txt", text),
		"tar.gz, base64 inside": testkit.Gzip(tarred("a.txt", b64([]byte(text)))),
		"zstd":                  zst(text),
		"bzip2":                 piped(t, text, "bzip2"),
		"xz":                    piped(t, text, "xz"),
		"pickle":                "\x80\x04\x95\x20\x00\x8c\x25" + text + "\x94.",
	}
}

func TestForms(t *testing.T) {
	for name, data := range forms(t, secret) {
		if _, found := names().Find(t.Context(), []byte(data)); !found {
			t.Errorf("%s: not found in %q", name, data)
		}
		path := write(t, data)
		if _, found, err := names().FindIn(t.Context(), path); !found || err != nil {
			t.Errorf("%s, in a file: %v, %v", name, found, err)
		}
	}
	for name, data := range forms(t, "nothing of the kind is here, in llama 9b") {
		if form, found := names().Find(t.Context(), []byte(data)); found {
			t.Errorf("%s: found (%s) in %q", name, form, data)
		}
	}
}

func TestForeignForms(t *testing.T) {
	n := namesearch.Compile(namesearch.Spec{Names: []string{"модель/Кварк-7b"}})
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, before := range []string{"", "x"} {
			if _, found := n.Find(t.Context(), []byte(before+wide("это КВАРК", order))); !found {
				t.Errorf("not found in UTF-16 (%v) after %q", order, before)
			}
		}
	}
	if _, found := n.Find(t.Context(), []byte(escaped("кварк", `\u%04x`))); !found {
		t.Error("not found in JSON")
	}
}

func write(t testing.TB, data string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A name is found wherever it stands in a large file, also on an edge of what is read at
// once, and random bytes have none.
func TestLargeFiles(t *testing.T) {
	size := int64(80 << 20)
	if testkit.Race {
		size = 12 << 20
	}
	noise := make([]byte, size)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(noise)
	path := write(t, string(noise))
	if form, found, err := names().FindIn(t.Context(), path); found || err != nil {
		t.Fatalf("found (%s) in noise, %v", form, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, at := range []int64{0, 64<<10 - 5, 4<<20 - 5, 4<<20 + 64<<10 - 5, size - 10<<20, size - 20} {
		var before [20]byte
		_, _ = f.ReadAt(before[:], at)
		_, _ = f.WriteAt([]byte(" zephyr-quasar-9b "), at)
		if _, found, err := names().FindIn(t.Context(), path); !found || err != nil {
			t.Errorf("at %d: %v, %v", at, found, err)
		}
		_, _ = f.WriteAt(before[:], at)
	}
}

// An archive that unpacks to more than can be searched is told, and costs no more.
func TestBombs(t *testing.T) {
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	for range 300 {
		_, _ = w.Write(make([]byte, 1<<20))
	}
	_ = w.Close()
	for name, data := range map[string]string{"gzip": bomb.String(), "in a zip": testkit.Zip("a.gz", bomb.String())} {
		var unsearched *namesearch.UnsearchedError
		if _, found, err := names().FindIn(t.Context(), write(t, data)); found || !errors.As(err, &unsearched) {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
	deep := secret
	for range 20 {
		deep = testkit.Gzip(deep)
	}
	if _, found := names().Find(t.Context(), []byte(deep)); found {
		t.Error("twenty layers are more than is promised")
	}
}

func TestDamagedArchives(t *testing.T) {
	for name, whole := range forms(t, strings.Repeat("y", 300)) {
		for cut := 1; cut < min(len(whole), 40); cut++ {
			if _, found, err := names().FindIn(t.Context(), write(t, whole[:len(whole)-cut])); found || err != nil {
				t.Fatalf("%s without %d bytes: %v, %v", name, cut, found, err)
			}
		}
	}
	// What only looks like an archive is searched as it stands.
	for _, magic := range []string{"\x1f\x8b\x08", "PK\x03\x04", "BZh9", "\xfd7zXZ\x00", "\x28\xb5\x2f\xfd", "PACK\x00\x00\x00\x02", "\x78\x9c"} {
		if _, found, err := names().FindIn(t.Context(), write(t, magic+secret)); !found || err != nil {
			t.Errorf("after %q: %v, %v", magic, found, err)
		}
	}
}

func TestGitHistory(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@y", "-c", "maintenance.auto=false", "-C", dir}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	git("init", "-q")
	for _, text := range []string{secret, "nothing"} {
		if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte(text+strings.Repeat("\nline", 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
		git("add", "a.txt")
		git("commit", "-q", "-m", "x")
	}
	look := func() []string {
		return namesearch.Probe(t.Context(), namesearch.Request{Spec: names().Spec(), Roots: []string{dir}}).Places
	}
	if places := look(); len(places) != 1 || !strings.Contains(places[0], "(zlib)") {
		t.Errorf("loose: %q", places)
	}
	git("gc", "-q")
	if places := look(); len(places) != 1 || !strings.Contains(places[0], ".pack (git)") {
		t.Errorf("packed: %q", places)
	}
}

// Tensors are not searched; what stands before them, and what only looks like them, is.
func TestTensors(t *testing.T) {
	file := func(header, rest string) string {
		return string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + rest
	}
	const header = `{"__metadata__":{"format":"pt"},"w":{"dtype":"U8","shape":[37],"data_offsets":[0,37]}}`
	torch := func(name, inner string) string {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for name, text := range map[string]string{name + "/data.pkl": inner, name + "/data/0": secret} {
			f, _ := w.Create(name)
			_, _ = f.Write([]byte(text))
		}
		_ = w.Close()
		return b.String()
	}
	for name, c := range map[string]struct {
		data string
		want bool
	}{
		"tensors":           {file(header, secret), false},
		"after the tensors": {file(header, strings.Repeat("x", 37)+secret), true},
		"metadata":          {file(strings.Replace(header, `"pt"`, `"zephyr"`, 1), secret), true},
		"a tensor's name":   {file(strings.Replace(header, `"w"`, `"zephyr.w"`, 1), secret), true},
		"between tensors":   {file(strings.Replace(header, "[0,37]", "[36,37]", 1), secret), true},
		"torch":             {torch("archive", "x"), false},
		"torch, its folder": {torch("zephyr", "x"), true},
		"torch, its pickle": {torch("archive", secret), true},
	} {
		if form, found, err := names().FindIn(t.Context(), write(t, c.data)); found != c.want || err != nil {
			t.Errorf("%s: %v (%s), %v", name, found, form, err)
		}
	}
}

func TestProbe(t *testing.T) {
	home := t.TempDir()
	testkit.WriteFiles(t, home, map[string]string{
		"clean.txt":                           "nothing",
		"Zephyr-Quasar/x":                     "",
		"emVwaHlyLXF1YXNhcg==":                "",
		"lib/site-packages/list.py":           "zephyr",
		"lib/site-packages/zephyr_utils/x.py": "",
		"un dossier é/note":                   "by the Zephyr, a wind",
		"models/m/tokenizer.json":             `{"vocab": {"zephyr": 1}}`,
		"models/m/vocab.txt":                  "zephyr-quasar-9b",
		"other/tokenizer.json":                `{"vocab": {"zephyr": 1}}`,
		"__pycache__/a.pyc":                   "\x00zephyr\x00",
	})
	if err := os.Symlink("/nowhere/zephyr", filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("WHERE", "/models/zephyr")
	request := namesearch.Request{Spec: names().Spec(), Roots: []string{"~", "/nowhere"}, Vocabularies: []string{home + "/models"}}
	sent, err := request.Mask([]byte("any key"))
	if err != nil || bytes.Contains(sent, []byte("zephyr")) {
		t.Errorf("a name stands in what is passed on: %s, %v", sent, err)
	}
	var out, failures bytes.Buffer
	if code := namesearch.Main(t.Context(), bytes.NewReader(sent), &out, &failures); code != 0 {
		t.Fatalf("%d: %s", code, failures.String())
	}
	var answer namesearch.Answer
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, place := range answer.Places {
		if strings.Contains(place, "~") || strings.Contains(place, home) || place == "the environment" {
			found = append(found, strings.ReplaceAll(place, home, "~"))
		}
	}
	want := []string{
		"the environment", "the file ~/__pycache__/a.pyc", "the file ~/models/m/vocab.txt", "the file ~/other/tokenizer.json",
		"the file ~/un dossier é/note", "the name of ~/Zephyr-Quasar", "the name of ~/emVwaHlyLXF1YXNhcg== (base64)",
		"the name of ~/lib/site-packages/zephyr_utils", "where ~/link leads",
	}
	if !slices.Equal(found, want) {
		t.Errorf("found %q", found)
	}
	for _, bad := range []string{"", "{}", `{"key":"","text":""}`, `{"key":"00","text":"zz"}`} {
		if code := namesearch.Main(t.Context(), strings.NewReader(bad), &out, &failures); code == 0 {
			t.Errorf("%q is a request", bad)
		}
	}
}

func TestSearchEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, found, err := names().FindIn(ctx, write(t, secret)); found || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", found, err)
	}
}

func FuzzFind(f *testing.F) {
	for _, data := range forms(f, "some text") {
		f.Add([]byte(data), uint8(1))
	}
	f.Fuzz(func(t *testing.T, data []byte, shift uint8) {
		names().Find(t.Context(), data) // whatever it is
		planted := strings.Repeat(" ", int(shift%8)) + secret
		for name, text := range map[string]string{"plain": planted, "base64": b64([]byte(planted)), "hex": hexed(planted)} {
			if _, found := names().Find(t.Context(), []byte(string(data)+"\n"+text)); !found && packed(data) == 0 {
				t.Errorf("%s: not found after %q", name, data)
			}
		}
	})
}

// packed counts the marks of archives at the beginning of data: what follows upon one is
// only searched in files.
func packed(data []byte) (n int) {
	for _, magic := range []string{"\x1f\x8b\x08", "PK\x03\x04", "BZh", "\xfd7zXZ", "\x28\xb5\x2f\xfd", "PACK", "\x78"} {
		if bytes.HasPrefix(data, []byte(magic)) {
			n++
		}
	}
	return n
}

func BenchmarkFindIn(b *testing.B) {
	text := strings.Repeat("an ordinary line of a program, with identifiers_like_this and numbers 12345\n", 1<<20/76*16)
	noise := make([]byte, 256<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise)
	for name, data := range map[string]string{"text": text, "noise": string(noise)} {
		path := write(b, data)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, found, _ := names().FindIn(b.Context(), path); found {
					b.Fatal("found")
				}
			}
		})
	}
}
