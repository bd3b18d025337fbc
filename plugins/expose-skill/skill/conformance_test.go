package skill_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/plugins/expose-skill/skill"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/sdktest"
)

func TestConformance(t *testing.T) {
	text, err := os.ReadFile("../plugin.yaml")
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := host.CheckManifest("plugin.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	sdktest.Expose(t, sdktest.ExposeKit{
		Open:        func() sdk.Exposer { return skill.Mode{} },
		Options:     []json.RawMessage{json.RawMessage(`{"dir":".agents/skills"}`), json.RawMessage(`{"dir":"skills/","description":"Use it: \"now\"."}`)},
		Permissions: manifest.Permissions,
		Quick:       os.Getenv("SEER_SOAK") == "",
	})
}
