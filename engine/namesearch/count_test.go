package namesearch_test

import (
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/namesearch"
)

// Names are counted alike however the text comes in pieces.
func TestCounter(t *testing.T) {
	foreign := namesearch.Compile(namesearch.Spec{Names: []string{"acme/千问-éclair-7b"}})
	far := strings.Repeat("nothing to see 9\n", 20_000)
	for _, c := range []struct {
		names namesearch.Names
		text  string
		want  int
	}{
		{names(), "", 0},
		{names(), "a llama 9b", 0},
		{names(), "zephyr-quasar-9b", 1},
		{names(), "acme/zephyr-quasar-9b and Zephyr_Quasar", 2},
		{names(), "zephyr\nzephyr\nzephyr\n", 3},
		{names(), "\x1b[31mZephyr\x1b[0m-\x1b[38;5;28mQuasar\x1b[39m", 1},
		{names(), far + "zephyr" + far + "quasar" + far, 2},
		{names(), strings.Repeat("x zephyr-quasar-9b ", 30_000), 30_000},
		{names(), strings.Repeat("\x1b[31mzephyr \x1b[0m x ", 20_000), 20_000},
		{foreign, "千问, then ÉCLAIR, or e\u0301clair", 3},
		{foreign, far + "e\u0301clair" + far, 1},
	} {
		for _, size := range []int{1, 7, 4096, 1 << 20} {
			if size == 1 && len(c.text) > 1000 {
				size = 3
			}
			counter := c.names.NewCounter()
			for rest := c.text; len(rest) > 0; {
				n := min(size, len(rest))
				if _, err := counter.Write([]byte(rest[:n])); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if got := counter.Count(); got != c.want {
				t.Errorf("%.60q in pieces of %d: %d names, want %d", c.text, size, got, c.want)
			}
		}
	}
}

func BenchmarkCounter(b *testing.B) {
	data := []byte(strings.Repeat("step 100: the loss is 0.1234, and nothing is named here\n", 20_000))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		counter := names().NewCounter()
		_, _ = counter.Write(data)
		if counter.Count() != 0 {
			b.Fatal("a name was counted")
		}
	}
}
