// Package rpc lets a program of another language use the engine as a child process: JSON-RPC 2.0,
// one message on a line, over standard input and output. Package seer of Python is such a
// program. schema.json specifies all requests; docs/engine-process.md explains them.
//
// A client owns the sandboxes that it starts. When its end of the input closes, for example because
// it was killed, the engine terminates the sandboxes that it has not detached. Calls of functions
// and their values do not pass through this process: a client makes calls by the connection of a
// service.
package rpc
