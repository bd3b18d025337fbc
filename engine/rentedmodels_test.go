package engine_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event/eventtext"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

// archive is a source of models over HTTP that counts who asks for what.
type archive struct {
	*httptest.Server
	files map[string][]byte
	// reachable says where files are. a.mu is held.
	reachable func() string

	mu       sync.Mutex
	resolved int // questions for the list
	sent     int64
}

func newArchive(t *testing.T, files map[string][]byte) *archive {
	a := &archive{files: files}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(files[strings.TrimPrefix(r.URL.Path, "/")]))
		var from, to int64
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); err == nil {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.sent += to - from + 1
		}
	}))
	t.Cleanup(a.Close)
	a.reachable = func() string { return a.URL }
	return a
}

// bytes is how many have been sent of ranges.
func (a *archive) bytes() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sent
}

func (a *archive) Resolve(_ context.Context, ref sdk.ModelRef) (sdk.ResolvedModel, error) {
	a.mu.Lock()
	a.resolved++
	a.mu.Unlock()
	m := sdk.ResolvedModel{Name: ref.Name, Revision: "r1"}
	for name, data := range a.files {
		sum := sha256.Sum256(data)
		m.Files = append(m.Files, sdk.ModelFile{Path: name, Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:])})
	}
	return m, nil
}

func (a *archive) Locate(_ context.Context, f sdk.FileRef) (sdk.Location, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return sdk.Location{URL: a.reachable() + "/" + f.Path}, nil
}

// isolating is a provider that says that it can keep machines off the network.
type isolating struct{ *rented }

func (p isolating) Describe(ctx context.Context) (sdk.ProviderInfo, error) {
	info, err := p.rented.Describe(ctx)
	info.Isolations = []sdk.Isolation{{Name: "gvisor", Usable: true}}
	return info, err
}

// tensorFile is a file of safetensors whose metadata has a name.
func tensorFile(name string, size int) []byte {
	header := fmt.Sprintf(`{"__metadata__":{"format":"pt","from":"%s"},"w":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}`, name, size, size)
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(file, header...), bytes.Repeat([]byte("weights!"), size/8)...)
}

const rentedWeights = 4 << 20

// upRented starts a sandbox with a model of the archive on a rented machine, and returns what
// the user is told.
func upRented(t *testing.T, a *archive, model, sandbox string, change ...func(*engine.Engine)) (*engine.Sandbox, string) {
	t.Helper()
	cloud := isolating{&rented{dir: t.TempDir(), machines: map[string]*exec.Cmd{}, ports: map[string]int{}}}
	e := newEngine(t, func(o *engine.Options) {
		o.Providers, o.Fetchers = map[string]sdk.Provider{"rented": cloud}, map[string]sdk.Fetcher{"archive": a}
	})
	for _, f := range change {
		f(e)
	}
	exp := load(t, map[string]string{"seer.yaml": "sandbox: {provider: rented, execution_mode: cli, models: [" + model + "]" + sandbox + "}\nworkspace: {preload_models: false}\n"})
	var log []string
	s := up(t, e, exp, engine.UpOptions{Attached: time.Minute, Progress: func(ev engine.Event) { log = append(log, eventtext.Sentence(ev)) }})
	return s, strings.Join(log, "\n")
}

// inside runs a command in a sandbox.
func inside(t *testing.T, s *engine.Sandbox, command string) string {
	t.Helper()
	var out bytes.Buffer
	if _, err := s.Exec(t.Context(), protocol.ProcessSpec{Shell: command}, nil, &out, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A rented machine downloads the weights of a hidden model. This computer has only their
// header, which is blinded like the texts.
func TestHiddenModelOnARentedMachine(t *testing.T) {
	t.Parallel()
	weights := tensorFile("acme/zebrafish", rentedWeights)
	a := newArchive(t, map[string][]byte{
		"config.json":       []byte(`{"_name_or_path": "acme/zebrafish", "model_type": "llama", "architectures": ["LlamaForCausalLM"]}`),
		"README.md":         []byte("# zebrafish"),
		"model.safetensors": weights,
	})
	s, _ := upRented(t, a, "{name: 'archive:acme/zebrafish', hidden: true}", "", (*engine.Engine).SearchNothing)
	got := inside(t, s, `cd "$MODEL_MODEL_PATH" && ls -A && cat config.json && head -c 300 model.safetensors && tail -c +300 model.safetensors | sha256sum`)
	sum := sha256.Sum256(weights[299:])
	if strings.Contains(strings.ToLower(got), "zebrafish") || !strings.Contains(got, hex.EncodeToString(sum[:])) || strings.Contains(got, "README") || !strings.Contains(got, "llama") {
		t.Errorf("the agent sees:\n%.2000q", got)
	}
	if a.bytes() > rentedWeights*5/4 {
		t.Errorf("%d bytes were sent, of weights with %d", a.bytes(), rentedWeights)
	}
}

// What a machine cannot download goes through this computer, and the user is told.
func TestModelThroughThisComputer(t *testing.T) {
	t.Parallel()
	nobody := httptest.NewServer(nil)
	nobody.Close()
	for name, tc := range map[string]struct {
		sandbox, told string
		reachable     bool
	}{
		"no network":     {", network: none", "network of the sandbox is none", true},
		"another subnet": {"", "connection refused", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArchive(t, map[string][]byte{"config.json": []byte("{}"), "weights.bin": bytes.Repeat([]byte("w"), 1000)})
			if !tc.reachable {
				a.reachable = func() string {
					if a.resolved == 1 { // before this computer downloads, it asks for the list again
						return nobody.URL
					}
					return a.URL
				}
			}
			s, said := upRented(t, a, "'archive:tiny'", tc.sandbox)
			if got := inside(t, s, `cat "$MODEL_TINY_PATH/weights.bin" | wc -c`); strings.TrimSpace(got) != "1000" {
				t.Errorf("in the sandbox: %q", got)
			}
			if !strings.Contains(said, "go through this computer") || !strings.Contains(said, tc.told) {
				t.Errorf("the user is told:\n%s", said)
			}
		})
	}
}

// A model that cannot be loaded is found before anything is rented, although its weights are
// not here.
func TestDamagedModelForARentedMachine(t *testing.T) {
	t.Parallel()
	weights := tensorFile("x", rentedWeights)
	a := newArchive(t, map[string][]byte{"config.json": []byte("{}"), "model.safetensors": weights[:len(weights)-100]})
	cloud := &rented{dir: t.TempDir(), machines: map[string]*exec.Cmd{}, ports: map[string]int{}}
	e := newEngine(t, func(o *engine.Options) {
		o.Providers, o.Fetchers = map[string]sdk.Provider{"rented": cloud}, map[string]sdk.Fetcher{"archive": a}
	})
	exp := load(t, map[string]string{"seer.yaml": "sandbox: {provider: rented, execution_mode: cli, models: ['archive:cut']}\n"})
	if _, err := e.Up(t.Context(), exp, engine.UpOptions{}); err == nil || !strings.Contains(err.Error(), "model.safetensors is damaged") || cloud.creates != 0 {
		t.Errorf("%v, %d machines", err, cloud.creates)
	}
	if a.bytes() > rentedWeights/2 {
		t.Errorf("%d bytes came to this computer", a.bytes())
	}
}

// gpus is a provider that rents GPUs of 1 MiB.
type gpus struct{ isolating }

func (gpus) Offers(context.Context, sdk.OfferQuery) ([]sdk.Offer, error) {
	return []sdk.Offer{{ID: "small", GPU: "A100", GPUCount: 1, GPUMemoryGB: 1.0 / 1024, CostPerHour: 1}}, nil
}

// Weights that cannot fit on the GPU end the start before anything is downloaded or rented.
// An interface may load them in another way: then it is a warning of the plan.
func TestModelTooLargeForTheGPU(t *testing.T) {
	t.Parallel()
	a := newArchive(t, map[string][]byte{
		"config.json": []byte(`{"model_type": "newest"}`), "tokenizer.json": []byte("{}"), "model.safetensors": tensorFile("x", rentedWeights),
	})
	cloud := &rented{dir: t.TempDir(), machines: map[string]*exec.Cmd{}, ports: map[string]int{}}
	e := newEngine(t, func(o *engine.Options) {
		o.Providers, o.Fetchers = map[string]sdk.Provider{"rented": gpus{isolating{cloud}}}, map[string]sdk.Fetcher{"archive": a}
	})
	const sandbox = "sandbox: {provider: rented, gpu: A100, models: ['archive:large']"
	whole := load(t, map[string]string{"seer.yaml": sandbox + ", execution_mode: cli, python_packages: [torch, transformers]}\n"})
	const want = "the weights of the models need 4.2 MB on the GPU, and 1 × A100 has 1.0 MB"
	if _, err := e.Plan(t.Context(), whole, engine.CheckOptions{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("plan: %v", err)
	}
	if _, err := e.Up(t.Context(), whole, engine.UpOptions{}); err == nil || !strings.Contains(err.Error(), want) || cloud.creates != 0 {
		t.Errorf("up: %v, %d machines", err, cloud.creates)
	}
	scoped := load(t, map[string]string{"seer.yaml": sandbox + "}\nserve: [{file: i.py}]\n", "i.py": "@expose\ndef f() -> int:\n    return 1\n"})
	p, err := e.Plan(t.Context(), scoped, engine.CheckOptions{})
	if err != nil || !strings.Contains(strings.Join(p.Warnings, "\n"), "choose a larger GPU") {
		t.Errorf("of an interface: %v, %q", err, p.Warnings)
	}
	if a.bytes() > rentedWeights/4 {
		t.Errorf("%d bytes were sent", a.bytes())
	}
}
