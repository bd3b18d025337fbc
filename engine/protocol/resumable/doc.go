// Package resumable makes one reliable byte stream out of a sequence of websockets,
// each of which may be cut at any byte. Tunnels in front of a rented machine cut
// every connection after a while; what travels through a link does not notice.
//
// A stream is a session: its bytes have offsets, each side keeps what the other
// has not acknowledged, and a new websocket, a carrier, goes on where the one
// before it was cut. [Dialer] is the side that makes carriers, [Server] the one
// that takes them. Section 11 of docs/protocol.md is the specification.
package resumable
