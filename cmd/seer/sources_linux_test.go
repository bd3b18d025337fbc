package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"

	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/enginetest/fakehub"
	"github.com/seer-engine/seer/internal/testoci"
)

const sourceExperiment = `name: sources
sandbox:
  models: [{name: "MODEL"}]
` + agentWithTools

const sourceAgent = `import tools
print(sorted(tools.contents("MODEL").items()))
print(tools.variables())
`

// runsModel runs an experiment with a model twice, and expects its files in the sandbox.
func runsModel(t *testing.T, origin, model, want string) *program {
	t.Helper()
	p := newProgram(t)
	p.ownCache()
	p.env = append(p.env, "SEER_MODEL_ORIGINS="+origin)
	p.write("exp.yaml", strings.ReplaceAll(sourceExperiment, "MODEL", model))
	p.write("interface.py", hubInterface)
	p.write("agent.py", strings.ReplaceAll(sourceAgent, "MODEL", model))
	for range 2 {
		if out, _ := p.runs("run", "--yes", "exp.yaml"); !strings.Contains(out, want) {
			t.Errorf("the agent says:\n%s", out)
		}
	}
	return p
}

func TestURLModel(t *testing.T) {
	t.Parallel()
	list := fmt.Sprintf("%x  config.json\n%x  sub/weights.bin\n", sha256.Sum256([]byte("{}")), sha256.Sum256([]byte("the weights")))
	files := map[string]string{"/tiny/SHA256SUMS": list, "/tiny/config.json": "{}", "/tiny/sub/weights.bin": "the weights"}
	downloads := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, ".bin") {
			downloads++
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		_, _ = w.Write([]byte(text))
	}))
	defer s.Close()
	name := fmt.Sprintf("url:%s/tiny/SHA256SUMS#sha256=%x", s.URL, sha256.Sum256([]byte(list)))
	runsModel(t, s.URL, name, "[('config.json', '{}'), ('sub/weights.bin', 'the weights')]")
	if downloads != 1 {
		t.Errorf("%d downloads of the weights in two runs", downloads)
	}
}

func TestOCIModel(t *testing.T) {
	t.Parallel()
	r := &testoci.Registry{Token: "anonymous-token"}
	r.Add("org/tiny", "v1", testoci.File("config.json", []byte("{}")), testoci.File("sub/weights.bin", []byte("the weights")))
	s := httptest.NewServer(r)
	defer s.Close()
	name := "oci:" + strings.TrimPrefix(s.URL, "http://") + "/org/tiny:v1"
	runsModel(t, s.URL, name, "[('config.json', '{}'), ('sub/weights.bin', 'the weights')]")
	blobs := 0
	for _, request := range r.Requests() {
		if strings.Contains(request, "/blobs/") {
			blobs++
		}
	}
	if blobs > 5 { // the first run locates a file once more than it downloads files
		t.Errorf("%d requests for blobs in two runs", blobs)
	}
}

// The worked example of the fetcher guide, a mirror of one's own: the plugin that `plugin new`
// writes serves a model.
func TestMirrorModel(t *testing.T) {
	t.Parallel()
	index := fmt.Sprintf(`{"revision": "r1", "files": [{"path": "config.json", "size": 2, "sha256": "%x"}]}`, sha256.Sum256([]byte("{}")))
	files := map[string]string{"/tiny/latest/index.json": index, "/tiny/r1/index.json": index, "/tiny/r1/config.json": "{}"}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	defer s.Close()
	p := newProgram(t)
	p.ownCache()
	p.sharesGo()
	dir := filepath.Join(p.dir, "fetch-mirror")
	dist := filepath.Join(dir, "dist")
	p.run("plugin", "new", "fetcher", "mirror", "--dir", dir)
	p.run("plugin", "build", dir)
	_, hash, _ := strings.Cut(p.run("plugin", "info", filepath.Join(dist, "fetch-mirror.wasm"), "--json"), `"permissions":"sha256:`)
	p.run("plugin", "grant", "--folder", dist, "--grant", "sha256:"+hash[:64])

	p.env = append(p.env, "MIRROR_URL="+s.URL, "SEER_PLUGIN_DIR="+dist)
	p.write("exp.yaml", strings.ReplaceAll(sourceExperiment, "MODEL", "mirror:tiny"))
	p.write("interface.py", hubInterface)
	p.write("agent.py", strings.ReplaceAll(sourceAgent, "MODEL", "mirror:tiny"))
	if out, _ := p.runs("run", "--yes", "exp.yaml"); !strings.Contains(out, "[('config.json', '{}')]") {
		t.Errorf("the agent says:\n%s", out)
	}
}

// A compressible file comes from the Xet storage of the Hub, and of its next revision only
// what has changed.
func TestHubXet(t *testing.T) {
	t.Parallel()
	data := make([]byte, 24<<20)
	if _, err := fakehub.Random(int64(len(data)), 1).ReadAt(data, 0); err != nil {
		t.Fatal(err)
	}
	for i := range data {
		if i>>19&1 == 1 && i%4 != 0 {
			data[i] = 0
		}
	}
	commit := func(data []byte) fakehub.Commit {
		return fakehub.Commit{Files: map[string]fakehub.File{"model.safetensors": {Content: fakehub.Bytes(data), Kind: fakehub.Xet}}}
	}
	h, err := fakehub.New(fakehub.Options{XorbSize: 4 << 20, Repos: []fakehub.Repo{{ID: "org/xet", Private: true, Readers: []string{"user"}, Commits: []fakehub.Commit{commit(data)}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	pull := func(p *program, most, least int64) {
		t.Helper()
		h.ForgetRequests()
		p.runs("models", "pull", "org/xet")
		if n := h.Count(fakehub.XetStorage, fakehub.Xorb).Bytes; n < least || n > most {
			t.Errorf("%d bytes came from the storage", n)
		}
		for _, r := range h.Requests() {
			if r.HubToken && r.Host != fakehub.API {
				t.Errorf("the token went to %s: %+v", r.Host, r)
			}
		}
	}
	p := hubProgram(t, h)
	pull(p, 20<<20, 1<<20)
	next := append([]byte("in front"), data...)
	if _, err := h.Push("org/xet", "", commit(next)); err != nil {
		t.Fatal(err)
	}
	pull(p, 1<<20, 1)
	disabled := hubProgram(t, h)
	disabled.env = append(disabled.env, "HF_HUB_DISABLE_XET=1")
	pull(disabled, 0, 0)
}
