package egress

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// life is what a placeholder keeps of a token, so that a plugin renews it in time.
type life struct {
	Exp *float64 `json:"exp,omitempty"`
	Iat *float64 `json:"iat,omitempty"`
	ID  string   `json:"jti,omitempty"`
}

// lifeOf reads a token's times; what is no token has none.
func lifeOf(token string) life {
	var l life
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return l
	}
	claims, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil || json.Unmarshal(claims, &l) != nil {
		return life{}
	}
	if l.Exp != nil && (*l.Exp < 0 || *l.Exp > 1<<40) {
		l.Exp = nil
	}
	l.ID = ""
	return l
}

// placeholder makes a value that nobody can guess and that opens nothing.
func placeholder(name string, l life, jwt bool) string {
	id := make([]byte, 16)
	rand.Read(id) //nolint:errcheck // never fails
	l.ID = hex.EncodeToString(id)
	if !jwt {
		return "placeholder-" + name + "-" + l.ID
	}
	claims, err := json.Marshal(l)
	if err != nil { // numbers and a string
		panic(err)
	}
	part := base64.RawURLEncoding.EncodeToString
	return part([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + part(claims) + "." + part([]byte("placeholder"))
}
