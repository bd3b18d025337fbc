// Package protocol is what both ends of a sandbox share: the engine with its clients (package
// client) on one side, the runtime on the machine on the other. It holds the wire types, the
// errors, and the codecs of frames and output records. docs/protocol.md is the specification.
//
// It needs the standard library only, because programs that embed the engine import it.
package protocol

// Version is the version of the protocol that this package speaks.
const Version = 1
