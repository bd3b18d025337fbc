// Package parking has whoever parks a machine and the machine's runtime prove themselves to
// each other: code inside can write to the folder in which they meet.
package parking

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Path is where a runtime that was parked answers a [Question], without a token.
const Path = "/v1/park/proof"

// Question is what nobody could know before, from somebody who knows the key.
type Question struct {
	Nonce string `json:"nonce"`
	Proof string `json:"proof"`
}

// NewQuestion makes a question.
func NewQuestion(key, id string) Question {
	nonce := NewKey()
	return Question{nonce, string(sum(key, "question", id, []byte(nonce)))}
}

// Asked reports whether somebody who knows the key has made the question.
func Asked(key, id string, q Question) bool {
	return hmac.Equal([]byte(q.Proof), sum(key, "question", id, []byte(q.Nonce)))
}

// Proof is the answer: only a runtime that was told the key can give it.
type Proof struct {
	Proof string `json:"proof"`
}

// NewKey makes the key of a parking: 64 hex digits.
func NewKey() string {
	var b [32]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func sum(key, purpose, id string, data []byte) []byte {
	h := hmac.New(sha256.New, []byte(key))
	fmt.Fprintf(h, "%s %s\n", purpose, id)
	h.Write(data)
	return []byte(hex.EncodeToString(h.Sum(nil)))
}

// Seal is the content of the file go-ID: a line that proves the rest, and the renewal.
func Seal(key, id string, renewal []byte) []byte {
	return append(append(sum(key, "go", id, renewal), '\n'), renewal...)
}

// Open returns the renewal, if whoever knows the key has sealed it.
func Open(key, id string, sealed []byte) ([]byte, bool) {
	proof, renewal, _ := bytes.Cut(sealed, []byte("\n"))
	return renewal, key != "" && hmac.Equal(proof, sum(key, "go", id, renewal))
}

// Answer proves that a runtime knows the key of a parking.
func Answer(key, id string, q Question) Proof {
	return Proof{string(sum(key, "socket", id, []byte(q.Nonce)))}
}

// ErrMoves is the error of a runtime that proves itself on the socket that it makes next:
// something in its machine moved, and could have been between it and whoever asks.
var ErrMoves = errors.New("something moves in the machine, so its runtime makes its socket anew")

// ErrProof is the error of a socket behind which is not the runtime.
var ErrProof = errors.New("what listens on the socket of the machine is not its runtime")

// Ask has the runtime behind a socket prove itself. No token is sent.
func Ask(ctx context.Context, socket, key, id string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	q := NewQuestion(key, id)
	body, err := json.Marshal(q)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://seer"+Path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	t := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}
	resp, err := t.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusConflict {
		return ErrMoves
	}
	var p Proof
	if err := json.NewDecoder(io.LimitReader(resp.Body, 4096)).Decode(&p); err != nil || !hmac.Equal([]byte(p.Proof), []byte(Answer(key, id, q).Proof)) {
		return fmt.Errorf("%w: it answers with HTTP status %d", ErrProof, resp.StatusCode)
	}
	return nil
}
