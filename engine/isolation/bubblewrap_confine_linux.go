package isolation

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"github.com/seer-engine/seer/engine/isolation/seccomp"
	"github.com/seer-engine/seer/sdk"
)

// filter refuses system calls that no confined command needs, and user namespaces by
// a second means where bubblewrap can.
func (b *bubblewrap) filter(spec Spec) error {
	if !spec.Nested && !spec.off.userns {
		// Version 0.8 knows the option. The file tells it faster than the program.
		program, err := os.ReadFile(b.cmd.Path)
		if err != nil {
			return fmt.Errorf("read bubblewrap's program: %w", err)
		}
		if bytes.Contains(program, []byte("disable-userns")) {
			b.add("--disable-userns")
		}
	}
	if spec.off.filter {
		return nil
	}
	program, err := seccomp.Confined(spec.Nested)
	if err != nil {
		return err
	}
	f, err := memoryFile(string(program.Bytes()))
	if err != nil {
		return err
	}
	b.add("--seccomp", b.pass(f))
	return nil
}

// checkNested refuses mounts to a command of root. What is user 1000 inside is root on
// this computer then: an overlay copies a setuid file of root with owner and mode into a
// folder of this computer, without any system call that a filter could refuse.
func checkNested(spec Spec) error {
	if spec.Nested && os.Geteuid() == 0 && !spec.off.nested {
		return sdk.Errorf(sdk.Unsupported, "nested_sandbox in bubblewrap is refused to root: a program could make setuid files of root on this computer; use isolation gvisor, or run Seer as an ordinary user")
	}
	return nil
}

// tmpfs makes a folder in memory.
func (b *bubblewrap) tmpfs(path string) {
	b.add(b.sizes...)
	b.add("--tmpfs", path)
}

// tmpfsOptions bound a folder in memory.
func tmpfsOptions(spec Spec) []string {
	if spec.TmpfsSize <= 0 || spec.off.sizes {
		return nil
	}
	return []string{"--size", strconv.FormatInt(spec.TmpfsSize, 10)}
}
