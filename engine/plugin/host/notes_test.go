package host

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seer-engine/seer/sdk"
)

func TestNotesHoldForTheirKeyOnly(t *testing.T) {
	n := notes{dir: filepath.Join(t.TempDir(), "notes")}
	var got sdk.Surface
	if n.get("a", "1", &got) {
		t.Error("nothing was noted yet")
	}
	n.put("a", "1", sdk.Surface{Prompt: "one"})
	n.put("b", "1", sdk.Surface{Prompt: "other"})
	if !n.get("a", "1", &got) || got.Prompt != "one" {
		t.Errorf("got %+v", got)
	}
	if n.get("a", "2", &got) || n.get("a", "", &got) {
		t.Error("a note was taken for another key")
	}
	if err := os.WriteFile(n.file("a"), []byte(`{"key":"1","val`), 0o600); err != nil {
		t.Fatal(err)
	}
	if n.get("a", "1", &got) {
		t.Error("a torn note was believed")
	}
	n.put("a", "2", sdk.Surface{Prompt: "two"})
	if entries, err := os.ReadDir(n.dir); err != nil || len(entries) != 2 || !n.get("a", "2", &got) {
		t.Errorf("%v, %v, %+v", entries, err, got)
	}
	notes{}.put("a", "1", got) // without a folder nothing is kept
}

func TestPluginKeyChangesWithTheFiles(t *testing.T) {
	wasm := filepath.Join(t.TempDir(), "p.wasm")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	settled := func() string {
		t.Helper()
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if key := pluginKey(wasm, Limits{}); key != "" {
				return key
			}
		}
		t.Fatal("the files never settled")
		return ""
	}
	write(wasm, "one")
	if key := pluginKey(wasm, Limits{}); key != "" {
		t.Errorf("a file just written has the key %q", key)
	}
	first := settled()
	if first != pluginKey(wasm, Limits{}) || first == pluginKey(wasm, Limits{MemoryMB: 1}) {
		t.Errorf("key %q", first)
	}
	write(wasm, "two") // of the same size
	if second := settled(); second == first {
		t.Error("another content has the same key")
	}
	before := settled()
	write(manifestPath(wasm), "id: p")
	if settled() == before {
		t.Error("a manifest beside it does not change the key")
	}
}
