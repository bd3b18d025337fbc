// Package protocol is the one room that both ends of a sandbox enter: the
// engine with its clients on one side, the runtime on the machine on the other.
// It holds the wire types, the frame codec, the connection file and the
// [Client]. docs/protocol.md is the specification.
//
// It needs the standard library and golang.org/x/sys only, because programs
// that embed the engine import it.
package protocol

// Version is the version of the protocol that this package speaks.
const Version = 1
