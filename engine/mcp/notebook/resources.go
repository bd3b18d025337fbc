package notebook

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/protocol"
)

const (
	executionsURI = "seer://notebook/executions/"
	textType      = "text/plain"
	// pieceBytes is how much of a text is read at once, unless less is asked for.
	pieceBytes = 256 << 10
)

func resourceURI(execution string) string {
	return executionsURI + url.PathEscape(execution) + "/text"
}

func (s *server) addResources() {
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: executionsURI + "{id}/text{?offset,limit}", Name: "output", Title: "The whole text output of a cell", MIMEType: textType,
		Description: "The output of a cell, unchanged, in pieces of 256 KiB: ?offset=N begins at byte N.",
	}, s.readText)
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: executionsURI + "{id}/text", Name: "output-start", Title: "The beginning of the text output of a cell", MIMEType: textType,
		Description: "The output of a cell, unchanged: the first 256 KiB.",
	}, s.readText)
}

func (s *server) readText(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	id, offset, limit, err := parseURI(req.Params.URI)
	if err != nil {
		return nil, err
	}
	data, size, err := s.client.Text(ctx, id, offset, limit)
	if protocol.CodeOf(err) == protocol.NotFound {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	if err != nil {
		return nil, err
	}
	text := strings.ToValidUTF8(string(data), "\uFFFD")
	meta := mcp.Meta{"offset": offset, "size": size}
	if next := offset + int64(len(data)); next < size && len(data) > 0 {
		meta["next"] = next
		text += fmt.Sprintf("\n[bytes %d to %d of %d; read on with %s?offset=%d]", offset, next, size, resourceURI(id), next)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: textType, Text: text, Meta: meta}}}, nil
}

// parseURI reads seer://notebook/executions/ID/text?offset=N&limit=M.
func parseURI(uri string) (id string, offset, limit int64, err error) {
	main, query, _ := strings.Cut(uri, "?")
	escaped, ok := strings.CutSuffix(strings.TrimPrefix(main, executionsURI), "/text")
	id, perr := url.PathUnescape(escaped)
	if !ok || perr != nil || id == "" || strings.Contains(id, "/") {
		return "", 0, 0, mcp.ResourceNotFoundError(uri)
	}
	q, err := url.ParseQuery(query)
	if err != nil {
		return "", 0, 0, fmt.Errorf("cannot read the query of %s", uri)
	}
	number := func(name string, otherwise int64) int64 {
		text := q.Get(name)
		if text == "" {
			return otherwise
		}
		n, e := strconv.ParseInt(text, 10, 64)
		if e != nil || n < 0 {
			err = fmt.Errorf("%s of %s must be a number of bytes", name, uri)
		}
		return n
	}
	offset, limit = number("offset", 0), number("limit", pieceBytes)
	if limit == 0 || limit > pieceBytes {
		limit = pieceBytes
	}
	return id, offset, limit, err
}
