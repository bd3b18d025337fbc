package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

// What the server offers to read.
const (
	docsURI    = "seer://docs"
	logsURI    = "seer://logs"
	handlesURI = "seer://handles/"
	callsURI   = "seer://calls/"

	jsonType = "application/json"
	textType = "text/plain"
	docsType = "text/markdown"
)

// maxLogs is how much of the end of a service's log is read.
const maxLogs = 64 << 10

func (s *server) addResources() {
	s.mcp.AddResource(&mcp.Resource{
		URI: docsURI, Name: "docs", Title: "Documentation of the functions", MIMEType: docsType,
		Description: "The functions with their signatures and their documentation.",
	}, s.readDocs)
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: handlesURI + "{id}", Name: "handle", Title: "A large result", MIMEType: jsonType,
		Description: "A value that stayed in the sandbox: its shape, statistics and a preview.",
	}, s.readHandle)
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: handlesURI + "{id}/{+index}", Name: "part", Title: "A part of a large result", MIMEType: jsonType,
		Description: "The part that an index picks, written as NumPy writes it: 0:10, or a column.",
	}, s.readHandle)
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: callsURI + "{id}", Name: "call", Title: "A call", MIMEType: jsonType,
		Description: "The state of a call, its progress and the end of its output.",
	}, s.readCall)
}

// addLogs offers what the service prints, to who may see it.
func (s *server) addLogs() {
	s.mcp.AddResource(&mcp.Resource{
		URI: logsURI, Name: "logs", Title: "Output of the service", MIMEType: textType,
	}, func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		var out lastBytes
		if _, err := s.link.logs(ctx, 0, &out); err != nil {
			return nil, err
		}
		return text(req.Params.URI, textType, strings.ToValidUTF8(string(out), "")), nil
	})
}

// lastBytes keeps the end of what is written.
type lastBytes []byte

func (b *lastBytes) Write(data []byte) (int, error) {
	*b = append(*b, data...)
	if over := len(*b) - maxLogs; over > 0 {
		*b = append((*b)[:0], (*b)[over:]...)
	}
	return len(data), nil
}

func text(uri, kind, text string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: kind, Text: text}}}
}

func (s *server) readDocs(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	s.mu.Lock()
	face := s.face
	s.mu.Unlock()
	return text(req.Params.URI, docsType, docs(face)), nil
}

// docs is the interface as Markdown.
func docs(face sdk.Interface) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", face.Module)
	if face.Doc != "" {
		b.WriteString("\n" + strings.TrimSpace(face.Doc) + "\n")
	}
	for _, f := range face.Functions {
		fmt.Fprintf(&b, "\n## %s\n\n```python\n%s\n```\n", f.Name, signature(f))
		if f.Doc != "" {
			b.WriteString("\n" + strings.TrimSpace(f.Doc) + "\n")
		}
	}
	return b.String()
}

// signature is the function's, as Python writes it.
func signature(f sdk.Function) string {
	var params []string
	only := false
	for i, p := range f.Params {
		name := p.Name
		switch p.Kind {
		case sdk.VarPositional:
			name, only = "*"+name, true
		case sdk.VarKeyword:
			name = "**" + name
		case sdk.KeywordOnly:
			if !only {
				params, only = append(params, "*"), true
			}
		}
		if p.Annotation != "" {
			name += ": " + p.Annotation
		}
		if p.HasDefault {
			name += " = " + p.DefaultRepr
		}
		params = append(params, name)
		if p.Kind == sdk.PositionalOnly && (i+1 == len(f.Params) || f.Params[i+1].Kind != sdk.PositionalOnly) {
			params = append(params, "/")
		}
	}
	line := "def " + f.Name + "(" + strings.Join(params, ", ") + ")"
	if f.Returns != "" {
		line += " -> " + f.Returns
	}
	return line
}

// readHandle tells what a handle is, and shows it where it is an image; or the part of
// it that stands behind its id.
func (s *server) readHandle(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	id, index, part := strings.Cut(strings.TrimPrefix(uri, handlesURI), "/")
	if !handleID().MatchString(id) {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	if part {
		return s.readPart(ctx, uri, id, index)
	}
	h, raw, err := s.describe(ctx, id)
	switch {
	case isCall(err, protocol.CallHandleGone):
		return nil, mcp.ResourceNotFoundError(uri)
	case err != nil:
		return nil, err
	}
	r := text(uri, jsonType, string(raw))
	if h.Kind == "image" && h.Bytes <= 16*MaxImage {
		for _, c := range s.picture(ctx, id) {
			if image, ok := c.(*mcp.ImageContent); ok {
				r.Contents = append(r.Contents, &mcp.ResourceContents{URI: uri, MIMEType: image.MIMEType, Blob: image.Data})
			}
		}
	}
	return r, nil
}

func (s *server) readPart(ctx context.Context, uri, id, index string) (*mcp.ReadResourceResult, error) {
	plain, err := url.PathUnescape(index)
	if err != nil {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	key, err := parseIndex(plain)
	if err != nil {
		return nil, err
	}
	body, err := s.link.ask(ctx, handleGet, s.opts.handleAbove(), id, []any{"index", key})
	if err != nil {
		s.gone(id, err)
		return nil, err
	}
	v, err := show(body)
	if err != nil {
		return nil, err
	}
	return text(uri, jsonType, string(v.json)), nil
}

func (s *server) readCall(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	j, err := s.find(ctx, strings.TrimPrefix(req.Params.URI, callsURI))
	if isCall(err, protocol.CallUnknown) {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(j.progress()); err != nil {
		return nil, err
	}
	return text(req.Params.URI, jsonType, out.String()), nil
}
