//go:build !linux

package runtime

import "github.com/seer-engine/seer/engine/protocol"

// systemUsage knows nothing here but what Go does.
func (s *Server) systemUsage(*protocol.Usage) {}
