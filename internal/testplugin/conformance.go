package testplugin

import (
	"path/filepath"
	"testing"

	"github.com/seer-engine/seer/engine/enginetest/plugintest"
	"github.com/seer-engine/seer/engine/plugin/host/hosttest"
	"github.com/seer-engine/seer/sdk/sdktest"
)

// Conformance runs the conformance kit, without what takes long, on the built-in plugin of this
// ID. The test is in the folder of the plugin, and [Main] has compiled it.
func Conformance(t *testing.T, id string) sdktest.Report {
	t.Helper()
	dir := t.TempDir()
	hosttest.BuiltIn(t, dir, id)
	report, err := plugintest.Run(t.Context(), plugintest.Options{Wasm: filepath.Join(dir, id+".wasm"), Folder: ".", Cache: compiled, Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Results {
		if r.Status == sdktest.Failed {
			t.Errorf("%s: %s", r.Check, r.Detail)
		}
	}
	return report
}
