package isolation

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/sdk"
)

// The go command is a stand-in that does what `go install` does with its arguments;
// e2e/gvisor.sh builds the real one.
func TestInstall(t *testing.T) {
	bin, dir := t.TempDir(), filepath.Join(t.TempDir(), "data é")
	goTool := func(script string) {
		if err := os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	var log bytes.Buffer
	err := InstallGVisor(t.Context(), dir, &log)
	if sdk.CodeOf(err) != sdk.NotFound || !strings.Contains(err.Error(), "chmod +x "+dir+"/runsc") || !strings.Contains(err.Error(), "/release/latest/") {
		t.Errorf("without go: %v", err)
	}
	goTool("echo no network >&2; exit 1")
	if err := InstallGVisor(t.Context(), dir, &log); sdk.CodeOf(err) != sdk.Unavailable || !strings.Contains(log.String(), "no network") {
		t.Errorf("go fails: %v\n%s", err, log.String())
	}
	goTool(`[ "$1 $2 $CGO_ENABLED$GOFLAGS" = "install -trimpath 0" ] || exit 3
for last; do :; done
[ "$last" = gvisor.dev/gvisor/runsc@` + RunscVersion + ` ] || exit 4
echo program >"$GOBIN/runsc"`)
	if err := InstallGVisor(t.Context(), dir, &log); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "runsc" {
		t.Errorf("left in the folder: %v, %v", entries, err)
	}
}
