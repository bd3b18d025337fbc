package fakemodal

import (
	"crypto/rand"
	"math/big"
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func randomName(n int) string {
	out := make([]byte, n)
	for i := range out {
		k, err := rand.Int(rand.Reader, big.NewInt(int64(len(base62))))
		if err != nil {
			panic(err) // the kernel has no randomness
		}
		out[i] = base62[k.Int64()]
	}
	return string(out)
}

// newID is prefix-<22 of base 62>, the form of most of Modal's identifiers.
func newID(prefix string) string { return prefix + "-" + randomName(22) }

// newSandboxID tells the back end: clients take any other length for the second one.
func newSandboxID(v2 bool) string {
	if v2 {
		return "sb-" + randomName(26)
	}
	return newID("sb")
}
