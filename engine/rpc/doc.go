// Package rpc lets a program of another language use the engine as a child process: JSON-RPC 2.0,
// one message on a line, over standard input and output. Package seer of Python is such a
// program. schema.json specifies all requests; docs/engine-process.md explains them.
//
// What a client has started, it owns: when its end of the input closes, also because it was
// killed, the sandboxes that it has not detached are terminated. Calls of functions and their
// values do not pass through here: a client makes them with the connection of a service.
package rpc
