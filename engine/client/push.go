package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

const headerDigest = "X-Seer-Sha256"

// Pieces of the runtime are sized so that one takes some seconds: tunnels cut
// requests that take longer, and every request costs a little.
const (
	firstPiece = 1 << 20
	minPiece   = 64 << 10
	maxPiece   = 8 << 20
	pieceTime  = 10 * time.Second
	pieceLimit = 2 * time.Minute // what takes longer hangs
)

// push is a runtime on its way to a machine.
type push struct {
	file     *os.File
	digest   string
	size     int64
	progress func(sent, total int64)
}

func openPush(path string, progress func(sent, total int64)) (*push, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the runtime: %w", err)
	}
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("read the runtime %s: %w", path, err)
	}
	return &push{file: f, digest: hex.EncodeToString(sum.Sum(nil)), size: size, progress: progress}, nil
}

// push sends piece by piece and goes on after a cut with what the loader lacks.
func (c loader) push(ctx context.Context, p *push) error {
	have, err := c.pushPiece(ctx, p, 0, 0)
	for b, piece := newBackoff(), int64(firstPiece); err != nil || have < p.size; {
		if err != nil {
			if !passing(err) {
				return err
			}
			if b.Wait(ctx) != nil {
				return fmt.Errorf("send the runtime to the sandbox: %w: %w", context.Cause(ctx), err)
			}
			piece = max(piece/2, minPiece)
			have, err = c.pushPiece(ctx, p, 0, 0) // only asks
			continue
		}
		b.Reset()
		began := time.Now()
		have, err = c.pushPiece(ctx, p, have, min(piece, p.size-have))
		piece = nextPiece(piece, time.Since(began))
	}
	return nil
}

func nextPiece(piece int64, took time.Duration) int64 {
	switch {
	case took > pieceTime:
		return max(piece/2, minPiece)
	case took < pieceTime/3:
		return min(2*piece, maxPiece)
	}
	return piece
}

// pushPiece sends n bytes from offset and returns how much the loader has; with
// n = 0 it only asks. The last piece also brings the loader's verdict.
func (c loader) pushPiece(ctx context.Context, p *push, offset, n int64) (int64, error) {
	data := make([]byte, n)
	if _, err := p.file.ReadAt(data, offset); err != nil {
		return 0, fmt.Errorf("read the runtime: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pieceLimit, errPiece)
	defer cancel()
	header := http.Header{headerDigest: {p.digest}, protocol.HeaderOffset: {strconv.FormatInt(offset, 10)}, protocol.HeaderSize: {strconv.FormatInt(p.size, 10)}}
	var answer struct {
		Have int64 `json:"have"`
	}
	err := c.ask(ctx, http.MethodPost, "/push", header, bytes.NewReader(data), &answer)
	if err != nil && errors.Is(context.Cause(ctx), errPiece) {
		err = errPiece
	}
	if err == nil && p.progress != nil && n > 0 {
		p.progress(answer.Have, p.size)
	}
	return answer.Have, err
}

var errPiece = protocol.Errorf(protocol.Unavailable, "a piece of the runtime did not arrive within %v", pieceLimit)
