//go:build !linux

package usage

import (
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/environment"
)

// systemUsage knows nothing here but what Go does.
func systemUsage(*environment.Env, *protocol.Usage) {}
