package abi

import pdk "github.com/extism/go-pdk"

// Call calls a host function that takes one block and returns one.
func Call(f func(offset uint64) uint64, in []byte) []byte {
	mem := pdk.AllocateBytes(in)
	defer mem.Free()
	return Take(f(mem.Offset()))
}

// Lend gives data to the host for the length of f; an empty one has no block.
func Lend(data []byte, f func(offset uint64)) {
	if len(data) == 0 {
		f(0)
		return
	}
	mem := pdk.AllocateBytes(data)
	defer mem.Free()
	f(mem.Offset())
}

// Take copies a block of the host's and frees it. It is nil where there is none.
func Take(offset uint64) []byte {
	if offset == 0 {
		return nil
	}
	mem := pdk.FindMemory(offset)
	defer mem.Free()
	return mem.ReadBytes()
}
