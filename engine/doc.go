// Package engine gives an AI agent a research environment: a sandbox on this
// computer or a rented machine, with models in it, in which functions of a
// Python file are served.
//
// An [Engine] holds the folders, the providers and the plugins. [Engine.Up] makes
// a [Sandbox] from an experiment, [Sandbox.Serve] makes a [Service] from a Python
// file, and [Service.Call] calls its functions. A sandbox with a detached lease
// outlives the program and is found again with [Engine.Open].
//
// Nothing here is global: state, cache, artifacts, clock and environment are
// [Options], so several engines live in one process. Providers, model fetchers and
// expose modes may be given as Go values instead of Wasm plugins.
//
// Agents (package run) and the MCP server (package mcp) are packages of their
// own, so that a program links only what it uses.
package engine
