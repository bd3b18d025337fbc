package protocol

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
)

// NewToken makes a token that cannot be guessed.
func NewToken() string {
	var b [32]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// HashToken is the hex SHA-256 of a token: what a machine is told instead of
// the token itself.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// NewID makes a short random name.
func NewID(prefix string) string {
	var b [8]byte
	rand.Read(b[:])
	return prefix + hex.EncodeToString(b[:])
}

// NewCallID makes a name for a call.
func NewCallID() string { return NewID("c") + "-1" }

// NewTokenID makes the name of a token.
func NewTokenID() string { return NewID("t-") }
