// Package client is the engine's end of the protocol: it talks to the runtime on a machine.
// It holds the [Client], and the connection and session files that say where a runtime is
// and which token opens it. Package protocol has what both ends share, and
// docs/protocol.md is the specification.
//
// Beside packages of the protocol it needs the standard library and golang.org/x/sys only,
// because programs that embed the engine import it.
package client
