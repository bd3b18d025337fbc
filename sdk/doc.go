// Package sdk is what the author of a Seer plugin reads: the three contracts
// ([Provider], [Fetcher], [Exposer]), the [Manifest], and the errors that cross
// the boundary. It needs nothing but the standard library, so it builds for
// Wasm as well as for a program that embeds the engine and implements a
// contract natively.
//
// A plugin is called in short steps. It must not wait: where a backend needs
// time, it returns a cursor and the engine calls again. Retry, back-off,
// deadlines, progress and cancellation are the engine's.
//
// Every value crosses the boundary as JSON. Unknown input fields are ignored;
// fields are only ever added within one contract version.
package sdk

// ContractVersion is the major version of all three contracts.
const ContractVersion = 1
