package acceptance

import (
	"encoding/binary"
	"fmt"
	"maps"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/enginetest/fakehub"
)

// tensors is a file of safetensors whose header has a name. Its data has n bytes.
func tensors(name string, n int) string {
	header := fmt.Sprintf(`{"__metadata__":{"format":"pt","from":"%s"},"w":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}`, name, n, n)
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + strings.Repeat("weights!", n/8)
}

// secretHub has an adapter and its base, which have their names in all their files.
func secretHub(t *testing.T) *fakehub.Hub {
	t.Helper()
	h, err := fakehub.New(fakehub.Options{Repos: []fakehub.Repo{
		{ID: "acme/zebrafish", Gated: "manual", Readers: []string{"user"}, Commits: []fakehub.Commit{{Files: map[string]fakehub.File{
			"config.json": hubText(`{"_name_or_path": "acme/zebrafish", "model_type": "llama", "architectures": ["LlamaForCausalLM"]}`),
			"README.md":   hubText("# zebrafish"), "model.safetensors": {Content: fakehub.Text(tensors("acme/zebrafish", 4<<20)), Kind: fakehub.LFS},
		}}}},
		{ID: "acme/okapi", Commits: []fakehub.Commit{{Files: map[string]fakehub.File{
			"adapter_config.json":       hubText(`{"peft_type": "LORA", "base_model_name_or_path": "acme/zebrafish"}`),
			"adapter_model.safetensors": {Content: fakehub.Text(tensors("acme/okapi", 4096)), Kind: fakehub.LFS},
		}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// TestHiddenHubModelsOnACloud kills a start while its machine downloads a hidden model, and
// starts again: the names of the model and its base are in no path and no variable of the sandbox,
// the weights are right, and the token is there, as the experiment asks for it. Of the killed
// start, nothing is left when its lease is over.
func TestHiddenHubModelsOnACloud(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *cloud) {
		h := secretHub(t)
		p := c.at(t)
		maps.Copy(p.env, h.Env())
		p.env["HF_HOME"] = p.path("hf home")
		p.write("exp.yaml", fmt.Sprintf(`name: test
sandbox:
  provider: %s
  timeout: 10m
  secrets: [HF_TOKEN]
  models: [{name: acme/okapi, hidden: true, is_peft: true, base_model: acme/zebrafish}]
`, c.name))
		const stalled = 1 << 20 // of the weights; this computer reads less of them
		stall := make(chan struct{})
		remove := h.Inject(fakehub.Fault{Call: fakehub.Blob, After: stalled, Stall: stall})
		killed := p.seer("up", "exp.yaml", "--name", "killed")
		p.eventually("the machine downloads", func() bool { return largestAnswer(h) >= stalled || killed.over() })
		killed.signal(syscall.SIGKILL)
		p.check(killed.wait(), 128+int(syscall.SIGKILL))
		remove()
		close(stall)
		p.ok("gc")

		p.up("lab")
		got := p.ok("exec", "lab", "--", "sh", "-c", `env; ls -AR "$MODEL_MODEL_PATH" "$MODEL_MODEL_BASE_PATH" ~/.cache 2>&1; sha256sum < "$MODEL_MODEL_BASE_PATH/model.safetensors"`)
		for _, want := range []string{"HF_TOKEN=[secret HF_TOKEN]", sumOf(fakehub.Text(tensors("acme/zebrafish", 4<<20))), "adapter_config.json"} {
			if !strings.Contains(got, want) {
				t.Errorf("the sandbox lacks %q:\n%s", want, clip(got))
			}
		}
		for _, name := range []string{"zebrafish", "okapi"} {
			if strings.Contains(strings.ToLower(got), name) {
				t.Errorf("paths or variables tell %s:\n%s", name, clip(got))
			}
		}
		p.ok("down", "lab")
		p.eventually("the machine of the killed start ends", func() bool { return len(c.alive()) == 0 })
		p.ok("gc")
		if left := p.ls(); len(left) != 0 {
			t.Errorf("the ledger still has %v", left)
		}
	})
}

// largestAnswer is of how many bytes the longest answer with content was so far.
func largestAnswer(h *fakehub.Hub) (most int64) {
	for _, r := range h.Requests() {
		if r.Call == fakehub.Blob {
			most = max(most, r.Bytes)
		}
	}
	return most
}
