package mcp_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/seer-engine/seer/plugins/expose-mcp/mcp"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/sdktest"
)

func TestConformance(t *testing.T) {
	sdktest.Expose(t, sdktest.ExposeKit{
		Open:    func() sdk.Exposer { return mcp.Mode{} },
		Options: []json.RawMessage{json.RawMessage(`{"wait":"90s","handle_above":1000}`)},
		Quick:   os.Getenv("SEER_SOAK") == "",
	})
}
