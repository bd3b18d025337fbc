package hosttest

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"
	_ "unsafe" // for go:linkname
)

const wazero = "github.com/tetratelabs/wazero"

// wazeroVersion is part of the key of compiled code. Programs take it from what the linker notes
// about their modules, and test binaries have no such note.
//
//go:linkname wazeroVersion github.com/tetratelabs/wazero/internal/version.version
var wazeroVersion string

// KeyAsInstalled gives this test binary the keys of the program, so that one set of compiled
// plugins serves both. Call it before the first host is made; [Prepare] does.
func KeyAsInstalled() error { return keyAsInstalled() }

var keyAsInstalled = sync.OnceValue(func() error {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", wazero).Output()
	if err != nil {
		return fmt.Errorf("go list -m %s: %w", wazero, err)
	}
	wazeroVersion = strings.TrimSpace(string(out))
	return nil
})
