package shell

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/protocol"
)

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
		return 0, fmt.Errorf("%q is not a mode; use one such as 644 or 0755", said)
	}
	return fs.FileMode(m), nil
}

func (s *server) writeFile(ctx context.Context, _ *mcp.CallToolRequest, a writeArgs) *mcp.CallToolResult {
	data, err := a.data()
	if err == nil && len(data) > maxEdit {
		err = fmt.Errorf("%d bytes are more than the %d of one write; use upload, or a command", len(data), maxEdit)
	}
	var c *client.Client
	var p string
	if err == nil {
		c, p, err = s.open(a.Path)
	}
	if err != nil {
		return reply.BadArguments("write_file", err)
	}
	e, real, err := resolve(ctx, c, p)
	exists := err == nil
	switch {
	case err != nil && protocol.CodeOf(err) != protocol.NotFound:
		return reply.Failure(explain(err))
	case exists && e.Type != protocol.EntryFile:
		return reply.Problem(fmt.Sprintf("%s is a %s", a.Path, kindOf(e)))
	}
	mode, err := modeOf(a.Mode, e)
	if err != nil {
		return reply.BadArguments("write_file", err)
	}
	defer s.known.lock(real)()
	if last := s.known.last(real); exists && last != "" && !a.Overwrite {
		now, err := slurp(ctx, c, real)
		if err == nil && digest(now) != last {
			return reply.Problem(a.Path + " has changed since you have seen it: somebody else has written it. Read it again, or give overwrite: true.")
		}
	}
	if err := c.Files().Write(ctx, real, bytes.NewReader(data), mode); err != nil {
		return reply.Failure(explain(err))
	}
	s.known.note(real, digest(data))
	return reply.Answer(map[string]any{"path": a.Path, "size": len(data), "mode": fmt.Sprintf("%04o", mode), "created": !exists})
}

var errLarge = fmt.Errorf("the file is larger than %d bytes", maxEdit)

// slurp reads a file that is to be edited.
func slurp(ctx context.Context, c *client.Client, p string) ([]byte, error) {
	var b capped
	if _, err := c.Files().Read(ctx, p, &b); err != nil {
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
		return reply.BadArguments("edit_file", err)
	}
	e, real, err := resolve(ctx, c, p)
	switch {
	case err != nil:
		return reply.Failure(explain(err))
	case e.Type != protocol.EntryFile:
		return reply.Problem(fmt.Sprintf("%s is a %s", a.Path, kindOf(e)))
	}
	defer s.known.lock(real)()
	data, err := slurp(ctx, c, real)
	if err != nil {
		return reply.Failure(explain(err))
	}
	changed := s.known.last(real) != "" && s.known.last(real) != digest(data)
	edited, count, err := replace(string(data), a.Old, *a.New, a.All)
	if err != nil {
		if changed {
			err = fmt.Errorf("%w. The file has changed since you have seen it; read it again", err)
		}
		return reply.Problem(a.Path + ": " + err.Error())
	}
	mode, err := modeOf("", e)
	if err != nil {
		return reply.Failure(err)
	}
	if again, err := slurp(ctx, c, real); err != nil || !bytes.Equal(again, data) {
		return reply.Problem(a.Path + " is being written by somebody else at the same time, and was left as it is. Read it again.")
	}
	if err := c.Files().Write(ctx, real, strings.NewReader(edited), mode); err != nil {
		return reply.Failure(explain(err))
	}
	s.known.note(real, digest([]byte(edited)))
	r := map[string]any{"path": a.Path, "replaced": count, "size": len(edited)}
	if changed {
		r["note"] = "Somebody else had changed the file since you have seen it; only what you asked for was replaced."
	}
	return reply.Answer(r)
}

// replace puts one text in the place of another that is there once, or with all any
// number of times. Where the lines of the file end with CRLF, those of the texts may not.
func replace(text, old, with string, all bool) (string, int, error) {
	if !utf8.ValidString(text) {
		return "", 0, errors.New("it is not text in UTF-8; edit_file edits only text")
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
		return "", 0, fmt.Errorf("the text old is in it %d times; give more of the text around it, or all: true", n)
	}
	return strings.ReplaceAll(text, old, with), n, nil
}
