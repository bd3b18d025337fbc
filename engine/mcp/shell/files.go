package shell

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/mcp/internal/clients"
	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/repl"
)

const (
	// maxLines is how many lines read_file shows unless told otherwise.
	maxLines = 2000
	// maxEdit is the largest file that edit_file takes and the most that write_file writes.
	maxEdit = 16 << 20
)

// limited keeps what is written to it, up to the largest image.
type limited []byte

func (l *limited) Write(data []byte) (int, error) {
	if len(*l)+len(data) > reply.MaxImage {
		return 0, repl.ErrEnough
	}
	*l = append(*l, data...)
	return len(data), nil
}

// known is what this server has last seen of files: to notice that somebody else has
// changed one meanwhile.
type known struct {
	mu   sync.Mutex
	seen map[string]string      // path → digest
	busy map[string]*sync.Mutex // path → who writes it
}

func (k *known) note(path, digest string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.seen == nil || len(k.seen) > 10000 {
		k.seen = map[string]string{}
	}
	k.seen[path] = digest
}

func (k *known) last(path string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.seen[path]
}

// lock lets one request at a time change a file.
func (k *known) lock(path string) func() {
	k.mu.Lock()
	if k.busy == nil {
		k.busy = map[string]*sync.Mutex{}
	}
	m := k.busy[path]
	if m == nil {
		m = &sync.Mutex{}
		k.busy[path] = m
	}
	k.mu.Unlock()
	m.Lock()
	return m.Unlock
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

type readArgs struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Limit  int64  `json:"limit"`
}

// readResult is a part of a file. Offset, Lines and Next count lines of a text and bytes
// of anything else.
type readResult struct {
	Path     string `json:"path"`
	Size     int64  `json:"size"`
	Encoding string `json:"encoding"` // utf-8 or base64, or image
	Content  string `json:"content"`
	Offset   int64  `json:"offset"`
	Next     *int64 `json:"next_offset,omitempty"` // where the next part begins; not there at the end
	Note     string `json:"note,omitempty"`
}

func (s *server) readFile(ctx context.Context, req *mcp.CallToolRequest, a readArgs) *mcp.CallToolResult {
	c, p, err := s.open(a.Path)
	if err != nil {
		return reply.BadArguments("read_file", err)
	}
	e, real, err := resolve(ctx, c, p)
	switch {
	case err != nil:
		return reply.Failure(explain(err))
	case e.Type != protocol.EntryFile:
		return reply.Problem(fmt.Sprintf("%s is a %s, not a file; list_files lists folders", a.Path, kindOf(e)))
	case a.Offset < 0 || a.Limit < 0:
		return reply.BadArguments("read_file", errors.New("offset and limit are 0 or more"))
	}
	r := readResult{Path: a.Path, Size: e.Size}
	f := &fileReader{offset: a.Offset, limit: a.Limit, most: clients.TextOf(req.Session, maxPiece)}
	if _, err := c.Files().Read(ctx, real, f); err != nil && !errors.Is(err, repl.ErrEnough) {
		return reply.Failure(explain(err))
	}
	if !f.decided {
		f.decide()
	}
	if kind := f.image(e.Size); kind != "" {
		return s.image(ctx, c, real, r, kind)
	}
	f.fill(&r)
	if f.whole() {
		s.known.note(real, hex.EncodeToString(f.sum.Sum(nil)))
	}
	return reply.Answer(r)
}

// open is the client and a path as the sandbox knows it.
func (s *server) open(p string) (*client.Client, string, error) {
	at, err := s.at(p)
	if err != nil {
		return nil, "", err
	}
	c, err := s.get()
	return c, at, err
}

func kindOf(e protocol.Entry) string {
	if e.Type == protocol.EntryDir {
		return "folder"
	}
	return "special file"
}

func (s *server) image(ctx context.Context, c *client.Client, real string, r readResult, kind string) *mcp.CallToolResult {
	var data limited
	if _, err := c.Files().Read(ctx, real, &data); err != nil {
		return reply.Failure(explain(err))
	}
	r.Encoding = "image"
	return reply.Answer(r, &mcp.ImageContent{Data: data, MIMEType: kind})
}

// sniff is the MIME type of what clients can show as an image.
func sniff(data []byte) string {
	switch kind := http.DetectContentType(data); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return kind
	}
	return ""
}
