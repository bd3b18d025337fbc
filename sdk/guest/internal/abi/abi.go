// Package abi passes blocks of memory between a guest and its host.
package abi

// Native is what every function of a guest's says outside Wasm.
const Native = "sdk/guest works only in a Wasm plugin: build with GOOS=wasip1 GOARCH=wasm, and test the implementation directly"
