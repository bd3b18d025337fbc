package engine

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/seer-engine/seer/engine/state"
)

// AgentDir makes a private folder on disk for what gVisor keeps of an agent that this
// program runs. Whoever made it calls [Engine.RemoveAgentDir]; what programs that were
// killed have left is removed by the next call.
func (e *Engine) AgentDir() (string, error) {
	top, err := e.store.Dir("agents")
	if err != nil {
		return "", as(KindInternal, err)
	}
	entries, _ := os.ReadDir(top)
	for _, entry := range entries {
		owner, _, _ := strings.Cut(entry.Name(), "-")
		if pid, err := strconv.Atoi(owner); err == nil && syscall.Kill(pid, 0) == syscall.ESRCH {
			_ = state.RemoveAll(filepath.Join(top, entry.Name()))
		}
	}
	dir, err := os.MkdirTemp(top, strconv.Itoa(os.Getpid())+"-")
	return dir, as(KindInternal, err)
}

// RemoveAgentDir removes a folder of [Engine.AgentDir].
func (e *Engine) RemoveAgentDir(dir string) error { return as(KindInternal, state.RemoveAll(dir)) }
