package doctor

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// dying is how long the kernel may take to end what was killed.
const dying = 5 * time.Second

// leftBehind notes the processes that a run has left, and kills them.
func (p *patient) leftBehind(t *trial) {
	var found []process
	for until := time.Now().Add(dying); ; time.Sleep(20 * time.Millisecond) {
		if found = leftovers(t.mark, t.folder); len(found) == 0 || time.Now().After(until) {
			break
		}
	}
	for _, f := range found {
		p.left = append(p.left, fmt.Sprintf("%s (%d)", f.name, f.pid))
		_ = syscall.Kill(f.pid, syscall.SIGKILL)
	}
}

type process struct {
	pid  int
	name string
}

// procDir has the processes of this computer, on Linux.
const procDir = "/proc"

// watchable reports whether processes can be told here.
func watchable() bool {
	_, err := os.Stat(filepath.Join(procDir, "self", "environ"))
	return err == nil
}

// leftovers are the processes that have a variable, NAME=VALUE, or work in a folder.
func leftovers(mark, dir string) (found []process) {
	environs, _ := filepath.Glob(procDir + "/[0-9]*/environ")
	for _, environ := range environs {
		of := filepath.Dir(environ)
		pid, _ := strconv.Atoi(filepath.Base(of))
		env, _ := os.ReadFile(environ) // of another user's process: none
		cwd, _ := os.Readlink(filepath.Join(of, "cwd"))
		marked := bytes.Contains(append([]byte{0}, env...), []byte("\x00"+mark+"\x00"))
		if pid == os.Getpid() || !marked && cwd != dir && !strings.HasPrefix(cwd, dir+"/") {
			continue
		}
		name, _ := os.ReadFile(filepath.Join(of, "comm"))
		found = append(found, process{pid, strings.TrimSpace(string(name))})
	}
	return found
}
