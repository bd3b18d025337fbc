package experiment_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
)

var update = flag.Bool("update", false, "write docs/experiment.md anew")

const (
	docs   = "../../docs/experiment.md"
	marker = "<!-- reference -->\n"
)

func TestReferenceIsInTheDocs(t *testing.T) {
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	prose, old, ok := strings.Cut(string(text), marker)
	if !ok {
		t.Fatalf("%s has lost the line %s", docs, marker)
	}
	fresh := "\n" + experiment.Reference()
	if old == fresh {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the table of fields says; run go test ./engine/experiment -run Reference -update", docs)
	}
	if err := os.WriteFile(docs, []byte(prose+marker+fresh), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The example of the documentation must not rot.
func TestExampleOfTheDocs(t *testing.T) {
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	if exp, err := parse(example); err != nil || exp.Sandbox.Models[0].EnvName() != "MODEL_OPENAI_COMMUNITY_GPT2_PATH" {
		t.Errorf("got %+v, %v", exp, err)
	}
}
