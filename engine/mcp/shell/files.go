package shell

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/front"
	"github.com/seer-engine/seer/engine/protocol"
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
	if len(*l)+len(data) > front.MaxImage {
		return 0, errEnough
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

// resolve follows symlinks, so that a file is changed where it is.
func resolve(ctx context.Context, c *protocol.Client, p string) (protocol.Entry, string, error) {
	for range 20 {
		e, err := c.Stat(ctx, p)
		if err != nil || e.Type != protocol.EntrySymlink {
			return e, p, err
		}
		if path.IsAbs(e.Target) {
			p = e.Target
		} else {
			p = path.Join(path.Dir(p), e.Target)
		}
	}
	return protocol.Entry{}, p, fmt.Errorf("%s: too many symbolic links", p)
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

func (s *server) readFile(ctx context.Context, _ *mcp.CallToolRequest, a readArgs) *mcp.CallToolResult {
	c, p, err := s.open(a.Path)
	if err != nil {
		return front.BadArguments("read_file", err)
	}
	e, real, err := resolve(ctx, c, p)
	switch {
	case err != nil:
		return front.Failure(explain(err))
	case e.Type != protocol.EntryFile:
		return front.Problem(fmt.Sprintf("%s is no file but a %s; list_files lists folders", a.Path, kindOf(e)))
	case a.Offset < 0 || a.Limit < 0:
		return front.BadArguments("read_file", errors.New("offset and limit are 0 or more"))
	}
	r := readResult{Path: a.Path, Size: e.Size}
	f := &fileReader{offset: a.Offset, limit: a.Limit}
	if _, err := c.ReadFile(ctx, real, f); err != nil && !errors.Is(err, errEnough) {
		return front.Failure(explain(err))
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
	return front.Answer(r)
}

// open is the client and a path as the sandbox knows it.
func (s *server) open(p string) (*protocol.Client, string, error) {
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

func (s *server) image(ctx context.Context, c *protocol.Client, real string, r readResult, kind string) *mcp.CallToolResult {
	var data limited
	if _, err := c.ReadFile(ctx, real, &data); err != nil {
		return front.Failure(explain(err))
	}
	r.Encoding = "image"
	return front.Answer(r, &mcp.ImageContent{Data: data, MIMEType: kind})
}

type writeArgs struct {
	Path      string  `json:"path"`
	Content   *string `json:"content"`
	Base64    *string `json:"base64"`
	Mode      string  `json:"mode"`
	Overwrite bool    `json:"overwrite"`
}

func (a writeArgs) data() ([]byte, error) {
	switch {
	case (a.Content == nil) == (a.Base64 == nil):
		return nil, errors.New("give either content or base64")
	case a.Content != nil:
		return []byte(*a.Content), nil
	}
	data, err := base64.StdEncoding.DecodeString(*a.Base64)
	if err != nil {
		return nil, fmt.Errorf("base64: %w", err)
	}
	return data, nil
}

// modeOf is the mode of a file that is written: as was said, as it was, or 0644.
func modeOf(said string, was protocol.Entry) (fs.FileMode, error) {
	if said == "" {
		said = was.Mode
	}
	if said == "" {
		return 0o644, nil
	}
	m, err := strconv.ParseUint(said, 8, 32)
	if err != nil || m > 0o777 {
		return 0, fmt.Errorf("the mode %q is none such as 644 or 0755", said)
	}
	return fs.FileMode(m), nil
}

func (s *server) writeFile(ctx context.Context, _ *mcp.CallToolRequest, a writeArgs) *mcp.CallToolResult {
	data, err := a.data()
	if err == nil && len(data) > maxEdit {
		err = fmt.Errorf("%d bytes are more than the %d of one write; use upload, or a command", len(data), maxEdit)
	}
	var c *protocol.Client
	var p string
	if err == nil {
		c, p, err = s.open(a.Path)
	}
	if err != nil {
		return front.BadArguments("write_file", err)
	}
	e, real, err := resolve(ctx, c, p)
	exists := err == nil
	switch {
	case err != nil && protocol.CodeOf(err) != protocol.NotFound:
		return front.Failure(explain(err))
	case exists && e.Type != protocol.EntryFile:
		return front.Problem(fmt.Sprintf("%s is a %s", a.Path, kindOf(e)))
	}
	mode, err := modeOf(a.Mode, e)
	if err != nil {
		return front.BadArguments("write_file", err)
	}
	defer s.known.lock(real)()
	if last := s.known.last(real); exists && last != "" && !a.Overwrite {
		now, err := slurp(ctx, c, real)
		if err == nil && digest(now) != last {
			return front.Problem(a.Path + " has changed since you have seen it: somebody else has written it. Read it again, or give overwrite: true.")
		}
	}
	if err := c.WriteFile(ctx, real, bytes.NewReader(data), mode); err != nil {
		return front.Failure(explain(err))
	}
	s.known.note(real, digest(data))
	return front.Answer(map[string]any{"path": a.Path, "size": len(data), "mode": fmt.Sprintf("%04o", mode), "created": !exists})
}

var errLarge = fmt.Errorf("the file is larger than %d bytes", maxEdit)

// slurp reads a file that is to be edited.
func slurp(ctx context.Context, c *protocol.Client, p string) ([]byte, error) {
	var b capped
	if _, err := c.ReadFile(ctx, p, &b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

type capped struct{ bytes.Buffer }

func (b *capped) Write(data []byte) (int, error) {
	if b.Len()+len(data) > maxEdit {
		return 0, errLarge
	}
	return b.Buffer.Write(data)
}

// ReadFrom keeps io.Copy from going around Write.
func (b *capped) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{b}, r)
}

type editArgs struct {
	Path string  `json:"path"`
	Old  string  `json:"old"`
	New  *string `json:"new"`
	All  bool    `json:"all"`
}

func (s *server) editFile(ctx context.Context, _ *mcp.CallToolRequest, a editArgs) *mcp.CallToolResult {
	c, p, err := s.open(a.Path)
	switch {
	case err != nil:
	case a.Old == "":
		err = errors.New("old is empty; write_file writes whole files")
	case a.New == nil:
		err = errors.New(`new is missing; "" deletes`)
	case a.Old == *a.New:
		err = errors.New("old and new are the same")
	}
	if err != nil {
		return front.BadArguments("edit_file", err)
	}
	e, real, err := resolve(ctx, c, p)
	if err != nil {
		return front.Failure(explain(err))
	}
	defer s.known.lock(real)()
	data, err := slurp(ctx, c, real)
	if err != nil {
		return front.Failure(explain(err))
	}
	changed := s.known.last(real) != "" && s.known.last(real) != digest(data)
	edited, count, err := replace(string(data), a.Old, *a.New, a.All)
	if err != nil {
		if changed {
			err = fmt.Errorf("%w. The file has changed since you have seen it; read it again", err)
		}
		return front.Problem(a.Path + ": " + err.Error())
	}
	mode, err := modeOf("", e)
	if err != nil {
		return front.Failure(err)
	}
	if again, err := slurp(ctx, c, real); err != nil || !bytes.Equal(again, data) {
		return front.Problem(a.Path + " is being written by somebody else at the same time, and was left as it is. Read it again.")
	}
	if err := c.WriteFile(ctx, real, strings.NewReader(edited), mode); err != nil {
		return front.Failure(explain(err))
	}
	s.known.note(real, digest([]byte(edited)))
	r := map[string]any{"path": a.Path, "replaced": count, "size": len(edited)}
	if changed {
		r["note"] = "Somebody else had changed the file since you have seen it; only what you asked for was replaced."
	}
	return front.Answer(r)
}

// replace puts one text in the place of another that is there once, or with all any
// number of times. Where the lines of the file end with CRLF, those of the texts may not.
func replace(text, old, with string, all bool) (string, int, error) {
	if !utf8.ValidString(text) {
		return "", 0, errors.New("it is no text in UTF-8; edit_file is for texts")
	}
	n := strings.Count(text, old)
	if n == 0 && strings.Contains(text, "\r\n") {
		dos := func(t string) string { return strings.ReplaceAll(strings.ReplaceAll(t, "\r\n", "\n"), "\n", "\r\n") }
		old, with = dos(old), dos(with)
		n = strings.Count(text, old)
	}
	switch {
	case n == 0:
		return "", 0, errors.New("the text old is not in it: not one character may differ, spaces and tabs included")
	case n > 1 && !all:
		return "", 0, fmt.Errorf("the text old is in it %d times; give more of what stands around it, or all: true", n)
	}
	return strings.ReplaceAll(text, old, with), n, nil
}

// sniff is the MIME type of what clients can show as an image.
func sniff(data []byte) string {
	switch kind := http.DetectContentType(data); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return kind
	}
	return ""
}
