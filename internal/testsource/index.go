// Package testsource serves packages and git repositories on loopback, for tests of what
// installs them.
package testsource

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Package is a Python package with one module, which is called like it and has a
// variable VERSION.
type Package struct {
	Name, Version string
	Needs         []string // requirements
	Script        string   // name of a command that prints the version
	Data          string   // path of a file below the environment's folder
	Broken        bool     // a source package whose build fails
}

// Index is a package index.
type Index struct {
	URL string // for PIP_INDEX_URL

	user, password string
	mu             sync.Mutex
	fetched        map[string]int
}

// NewIndex serves packages. With a password it wants to be asked as user:password.
func NewIndex(t testing.TB, password string, packages ...Package) *Index {
	x := &Index{user: "reader", password: password, fetched: map[string]int{}}
	files := map[string][]byte{}
	pages := map[string]string{}
	for _, p := range packages {
		name, data := p.file(t)
		files["/files/"+name] = data
		pages["/simple/"+p.Name+"/"] += fmt.Sprintf(`<a href="/files/%s#sha256=%x">%s</a>`, name, sha256.Sum256(data), name)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); x.password != "" && (user != x.user || password != x.password) {
			w.Header().Set("WWW-Authenticate", `Basic realm="index"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if page, ok := pages[r.URL.Path]; ok {
			_, _ = io.WriteString(w, page)
			return
		}
		data, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		x.count(r.URL.Path)
		_, _ = w.Write(data)
	}))
	t.Cleanup(srv.Close)
	x.URL = srv.URL + "/simple"
	if password != "" {
		x.URL = strings.Replace(x.URL, "http://", "http://"+x.user+":"+password+"@", 1)
	}
	return x
}

func (x *Index) count(path string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.fetched[path]++
}

// Fetched is how many files of packages have been given out.
func (x *Index) Fetched() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := 0
	for _, c := range x.fetched {
		n += c
	}
	return n
}

func (p Package) file(t testing.TB) (string, []byte) {
	var b bytes.Buffer
	var err error
	name := p.Name + "-" + p.Version
	if p.Broken {
		err = p.source(&b, name)
		name += ".tar.gz"
	} else {
		err = p.wheel(&b, name)
		name += "-py3-none-any.whl"
	}
	if err != nil {
		t.Fatal(err)
	}
	return name, b.Bytes()
}

func (p Package) wheel(w io.Writer, name string) error {
	info := name + ".dist-info/"
	meta := "Metadata-Version: 2.1\nName: " + p.Name + "\nVersion: " + p.Version + "\n"
	for _, need := range p.Needs {
		meta += "Requires-Dist: " + need + "\n"
	}
	files := [][2]string{
		{p.Name + ".py", "VERSION = " + fmt.Sprintf("%q", p.Version) + "\n\ndef main():\n    print(VERSION)\n"},
		{info + "METADATA", meta},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
	}
	if p.Script != "" {
		files = append(files, [2]string{info + "entry_points.txt", "[console_scripts]\n" + p.Script + " = " + p.Name + ":main\n"})
	}
	if p.Data != "" {
		files = append(files, [2]string{name + ".data/data/" + p.Data, "data of " + p.Name + "\n"})
	}
	record := ""
	for _, f := range files {
		record += f[0] + ",,\n"
	}
	files = append(files, [2]string{info + "RECORD", record + info + "RECORD,,\n"})
	z := zip.NewWriter(w)
	for _, f := range files {
		part, err := z.Create(f[0])
		if err == nil {
			_, err = io.WriteString(part, f[1])
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}

// source is a package whose build says why it fails. It needs nothing from an index.
func (p Package) source(w io.Writer, name string) error {
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	for _, f := range [][2]string{
		{"PKG-INFO", "Metadata-Version: 2.1\nName: " + p.Name + "\nVersion: " + p.Version + "\n"},
		{"pyproject.toml", "[build-system]\nrequires = []\nbuild-backend = \"backend\"\nbackend-path = [\".\"]\n"},
		{"backend.py", "def build_wheel(*a, **k):\n    raise RuntimeError('the compiler is missing')\nget_requires_for_build_wheel = lambda *a: []\n" +
			"def prepare_metadata_for_build_wheel(*a, **k):\n    raise RuntimeError('the compiler is missing')\n"},
	} {
		if err := t.WriteHeader(&tar.Header{Name: name + "/" + f[0], Mode: 0o644, Size: int64(len(f[1]))}); err != nil {
			return err
		}
		if _, err := io.WriteString(t, f[1]); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}
