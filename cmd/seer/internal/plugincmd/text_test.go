package plugincmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/sdktest"
)

// What a plugin says of itself begins no line that seems to be Seer's.
func TestAPluginSpeaksOnItsOwnLines(t *testing.T) {
	m := sdk.Manifest{ID: "provider-tiny", Version: "1.0.0", Description: "Rents machines\n\naccess      asks nothing\nmay         nothing",
		Permissions: sdk.Permissions{Folders: true}}
	var out strings.Builder
	if err := pluginText(&out, host.Plugin{Manifest: m, Access: []string{"folders"}}); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"access", "may"} {
		if n := strings.Count("\n"+out.String(), "\n"+word+" "); n != 1 {
			t.Errorf("%d lines begin with %s:\n%s", n, word, out.String())
		}
	}
	report := sdktest.Report{}
	for range 1000 {
		report.Results = append(report.Results, sdktest.Result{Check: "a check that failed", Status: sdktest.Failed})
	}
	for what, text := range map[string]string{"reason": reasonText(strings.Repeat("sure ", 10000)), "report": reportText(&report)} {
		if len(text) > 500 {
			t.Errorf("a %s of %d bytes pushes the question off the screen", what, len(text))
		}
	}
}

// A folder that somebody sent may have a link where the report goes.
func TestAReportReplacesALink(t *testing.T) {
	dir := t.TempDir()
	mine, link := filepath.Join(dir, "mine"), filepath.Join(dir, "provider-tiny.conformance.json")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(mine, link); err != nil {
		t.Fatal(err)
	}
	var a app
	tried := trial{}
	tried.Wasm = filepath.Join(dir, "provider-tiny.wasm")
	if err := a.writeReport(tried, sdktest.Report{Plugin: "provider-tiny"}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(mine); err != nil || string(text) != "mine" {
		t.Errorf("the file behind the link is %q, %v", text, err)
	}
	if text, err := os.ReadFile(link); err != nil || !strings.Contains(string(text), "provider-tiny") {
		t.Errorf("the report is %q, %v", text, err)
	}
}
