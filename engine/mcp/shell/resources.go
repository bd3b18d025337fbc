package shell

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/protocol"
)

const processesURI = "seer://processes/"

func (s *server) addResources() {
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: processesURI + "{id}/output{?offset}", Name: "output", Title: "All output of a process", MIMEType: "text/plain",
		Description: "The output of a command, a process or Python code, up to 100 KiB from an offset on; _meta has next_offset and more.",
	}, s.readOutput)
}

func (s *server) readOutput(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	u, err := url.Parse(uri)
	if err != nil {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	id, ok := strings.CutSuffix(strings.TrimPrefix(u.Path, "/"), "/output")
	offset, err := strconv.ParseInt(u.Query().Get("offset"), 10, 64)
	if u.Query().Get("offset") == "" {
		offset, err = 0, nil
	}
	if !ok || id == "" || strings.Contains(id, "/") || err != nil || offset < 0 {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	r, err := s.output(ctx, id, &offset, maxPiece)
	if protocol.CodeOf(err) == protocol.NotFound {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	if err != nil {
		return nil, explain(err)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
		URI: uri, MIMEType: "text/plain", Text: r.Output,
		Meta: mcp.Meta{"next_offset": r.Next, "more": r.More, "state": r.State},
	}}}, nil
}
