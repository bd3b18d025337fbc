package isolation

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// The go command is a fake that does what `go build` does with its arguments;
// scripts/setup builds the real one.
func TestInstall(t *testing.T) {
	bin, dir := t.TempDir(), filepath.Join(t.TempDir(), "data é")
	goTool := func(script string) {
		testkit.WriteProgram(t, filepath.Join(bin, "go"), "#!/bin/sh\n"+script)
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
	goTool(`PATH=/usr/bin:/bin
[ "$1 $2 $CGO_ENABLED$GOFLAGS" = "build -mod=mod 0-trimpath" ] || exit 3
case " $(cat go.mod) $(cat main.go)" in *"gvisor.dev/gvisor ` + RunscVersion + `"*ignore*) exit 4;; esac
while [ "$1" != -o ]; do case "$1" in *"version=` + RunscBuild + `") named=yes;; esac; shift; done
case "$3" in
./precompile) printf '#!/bin/sh\necho generated\n' >"$2" && chmod +x "$2" ;;
.) [ "$(cat programs.go) $named" = "generated yes" ] && echo program >"$2" ;;
*) exit 5 ;;
esac`)
	if err := InstallGVisor(t.Context(), dir, &log); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "runsc" {
		t.Errorf("left in the folder: %v, %v", entries, err)
	}
}
