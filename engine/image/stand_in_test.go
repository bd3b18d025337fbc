package image_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/seer-engine/seer/engine/image"
	"github.com/seer-engine/seer/engine/image/registry"
)

const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	indexType    = "application/vnd.oci.image.index.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	gzipType     = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// server is a registry in memory that continues downloads, and breaks them off if asked to.
type server struct {
	*httptest.Server
	mu        sync.Mutex
	blobs     map[string][]byte
	manifests map[string][]byte // by tag and digest
	types     map[string]string
	login     string // user:password, or nobody is asked
	cut       int    // a blob ends after so many bytes; 0 = at its end
	loads     atomic.Int64
	ranges    atomic.Int64
}

func newServer(t testing.TB) *server {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	s := &server{blobs: map[string][]byte{}, manifests: map[string][]byte{}, types: map[string]string{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if user, password, _ := r.BasicAuth(); s.login != "" && user+":"+password != s.login {
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	_, last, _ := strings.Cut(r.URL.Path, "/v2/a/b/")
	kind, name, _ := strings.Cut(last, "/")
	switch data := s.manifests[name]; {
	case kind == "manifests" && data != nil:
		w.Header().Set("Content-Type", s.types[name])
		w.Header().Set("Docker-Content-Digest", sum(data))
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		if r.Method != http.MethodHead {
			_, _ = w.Write(data)
		}
		return
	case kind == "blobs" && s.blobs[name] != nil:
		s.loads.Add(1)
		if r.Header.Get("Range") != "" {
			s.ranges.Add(1)
		}
		if s.cut > 0 {
			w = &cutter{ResponseWriter: w, left: s.cut}
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.blobs[name]))
		return
	}
	http.NotFound(w, r)
}

type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	n, _ := c.ResponseWriter.Write(p[:min(len(p), c.left)])
	if c.left -= n; c.left == 0 {
		panic(http.ErrAbortHandler)
	}
	return n, nil
}

func sum(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

type object map[string]any

func (s *server) add(kind string, data []byte) object {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blobs[sum(data)] = data
	return object{"mediaType": kind, "digest": sum(data), "size": len(data)}
}

// put offers something under a tag and its digest.
func (s *server) put(t testing.TB, tag, kind string, what object) object {
	what["schemaVersion"], what["mediaType"] = 2, kind
	data, err := json.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range []string{tag, sum(data)} {
		s.manifests[name], s.types[name] = data, kind
	}
	return object{"mediaType": kind, "digest": sum(data), "size": len(data)}
}

// image offers layers as an image.
func (s *server) image(t testing.TB, tag, platform string, config object, layers ...[]byte) object {
	system, machine, _ := strings.Cut(platform, "/")
	text, err := json.Marshal(object{"os": system, "architecture": machine, "config": config})
	if err != nil {
		t.Fatal(err)
	}
	var descs []object
	for _, l := range layers {
		descs = append(descs, s.add(gzipType, l))
	}
	desc := s.put(t, tag, manifestType, object{"config": s.add(configType, text), "layers": descs})
	desc["platform"] = object{"os": system, "architecture": machine}
	return desc
}

func (s *server) ref(tag string) string {
	return strings.TrimPrefix(s.URL, "http://") + "/a/b" + tag
}

// logs are what Unpack says.
type logs struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logs) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.WriteString(line + "\n")
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func options(t testing.TB) (image.Options, *logs) {
	l := &logs{}
	return image.Options{Dir: filepath.Join(t.TempDir(), "é ordner"), Open: registry.Open, Insecure: true, Platform: "linux/amd64", Log: l.add}, l
}

// layer makes a tar of headers; the body of a file is in Devmajor's place: its name's map.
func layer(t testing.TB, pack string, entries ...entry) []byte {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		e.Size = int64(len(e.body))
		if e.Mode == 0 {
			e.Mode = 0o755
		}
		if e.Typeflag == 0 {
			e.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(e.body))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed(t, pack, buf.Bytes())
}

func packed(t testing.TB, pack string, data []byte) []byte {
	var out bytes.Buffer
	switch pack {
	case "gzip":
		z := gzip.NewWriter(&out)
		_, _ = z.Write(data)
		_ = z.Close()
	case "zstd":
		z, err := zstd.NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = z.Write(data)
		_ = z.Close()
	default:
		return data
	}
	return out.Bytes()
}

type entry struct {
	tar.Header
	body string
}

func file(name, body string) entry { return entry{tar.Header{Name: name}, body} }
func dir(name string, mode int64) entry {
	return entry{tar.Header{Name: name + "/", Typeflag: tar.TypeDir, Mode: mode}, ""}
}
func link(name, to string) entry {
	return entry{tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}, ""}
}
func hard(name, to string) entry {
	return entry{tar.Header{Name: name, Typeflag: tar.TypeLink, Linkname: to}, ""}
}
func device(name string, major, minor int64) entry {
	return entry{tar.Header{Name: name, Typeflag: tar.TypeChar, Devmajor: major, Devminor: minor}, ""}
}

// shown lists a tree: folders with a slash, links with their target, files with content.
func shown(t testing.TB, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		switch {
		case rel == ".":
		case info.IsDir():
			lines = append(lines, rel+"/")
		case info.Mode()&os.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			lines = append(lines, rel+"->"+to)
		default:
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			lines = append(lines, rel+"="+string(data))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, " ")
}

// nothingIn checks that a cache has neither roots nor anything half done.
func nothingIn(t testing.TB, dir string) {
	t.Helper()
	for _, sub := range []string{"roots", "refs", "locks"} {
		entries, err := os.ReadDir(filepath.Join(dir, sub))
		if err != nil || len(entries) > 0 {
			t.Errorf("%s has %v, %v", sub, entries, err)
		}
	}
}
