package experiment_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/internal/testkit"
)

var update = flag.Bool("update", false, "write docs/experiment.md anew")

const docs = "../../docs/experiment.md"

func TestReferenceIsInTheDocs(t *testing.T) {
	testkit.GoldenReference(t, *update, docs, "\n"+experiment.Reference())
}

// The example of the documentation must not rot.
func TestExampleOfTheDocs(t *testing.T) {
	_, rest, _ := strings.Cut(testkit.ReadFile(t, docs), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	if exp, err := parse(example); err != nil || exp.Sandbox.Models[0].EnvName() != "MODEL_OPENAI_COMMUNITY_GPT2_PATH" {
		t.Errorf("got %+v, %v", exp, err)
	}
}
