package guestkube

import "github.com/seer-engine/seer/sdk/guest/internal/abi"

//go:wasmimport extism:host/user kube_contexts
func hostKubeContexts(offset uint64) uint64

func askContexts(in []byte) []byte { return abi.Call(hostKubeContexts, in) }
