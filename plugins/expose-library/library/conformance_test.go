package library_test

import (
	"os"
	"testing"

	"github.com/seer-engine/seer/plugins/expose-library/library"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/sdktest"
)

func TestConformance(t *testing.T) {
	sdktest.Expose(t, sdktest.ExposeKit{Open: func() sdk.Exposer { return library.Mode{} }, Quick: os.Getenv("SEER_SOAK") == ""})
}
