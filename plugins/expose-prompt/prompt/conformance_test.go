package prompt_test

import (
	"os"
	"testing"

	"github.com/seer-engine/seer/plugins/expose-prompt/prompt"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/sdktest"
)

func TestConformance(t *testing.T) {
	sdktest.Expose(t, sdktest.ExposeKit{Open: func() sdk.Exposer { return prompt.Mode{} }, Quick: os.Getenv("SEER_SOAK") == ""})
}
