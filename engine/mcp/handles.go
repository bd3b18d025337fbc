package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/protocol"
)

// Functions that every service has; docs/protocol.md, 8.
const (
	handleInfo = "$handle.info"
	handleGet  = "$handle.get"
	handleMake = "$handle.make"
)

// maxSeen is how many handles are listed as resources, as many as a service keeps.
const maxSeen = 1000

// seen are the handles that clients have been given, oldest first.
type seen struct {
	mu  sync.Mutex
	ids []string
}

func newSeen() *seen { return &seen{} }

// add notes a handle, and returns those that are too many.
func (s *seen) add(id string) (fresh bool, old []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, known := range s.ids {
		if known == id {
			return false, nil
		}
	}
	s.ids = append(s.ids, id)
	for len(s.ids) > maxSeen {
		old, s.ids = append(old, s.ids[0]), s.ids[1:]
	}
	return true, old
}

func (s *seen) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, known := range s.ids {
		if known == id {
			s.ids = append(s.ids[:i], s.ids[i+1:]...)
			return
		}
	}
}

// handleResult is the answer of a tool whose result stayed in the sandbox.
func (s *server) handleResult(ctx context.Context, h *handle, raw json.RawMessage) *mcp.CallToolResult {
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(raw, &whole); err != nil {
		return reply.Problem(err.Error())
	}
	r := &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: h.text()}, s.linkTo(h)},
		StructuredContent: map[string]any{handleKey: whole[handleKey], nextKey: h.next()}, // some clients show nothing else
	}
	if h.Kind == "image" && h.Bytes <= 16*MaxImage {
		r.Content = append(r.Content, s.picture(ctx, h.ID)...)
	}
	return r
}

// picture is the image behind a handle, if clients can show it.
func (s *server) picture(ctx context.Context, id string) []mcp.Content {
	body, err := s.link.ask(ctx, handleGet, nil, id)
	if err != nil {
		return []mcp.Content{&mcp.TextContent{Text: "The image cannot be shown: " + err.Error()}}
	}
	v, err := show(body)
	if err != nil || len(v.images) != 1 {
		return []mcp.Content{&mcp.TextContent{Text: "The image is too large to be shown."}}
	}
	return []mcp.Content{v.images[0]}
}

// linkTo is a link to the handle's resource, which is listed from now on.
func (s *server) linkTo(h *handle) *mcp.ResourceLink {
	uri := handlesURI + h.ID
	fresh, old := s.seen.add(h.ID)
	for _, id := range old {
		s.mcp.RemoveResources(handlesURI + id)
	}
	if fresh {
		s.mcp.AddResource(&mcp.Resource{URI: uri, Name: h.ID, Title: h.title(), MIMEType: jsonType}, s.readHandle)
	}
	link := &mcp.ResourceLink{URI: uri, Name: h.ID, Title: h.title(), MIMEType: jsonType}
	if h.Bytes > 0 {
		link.Size = &h.Bytes
	}
	return link
}

// title says in a few words what the handle is.
func (h *handle) title() string {
	words := []string{h.DType, h.Kind}
	if h.Kind == "value" || h.Kind == "" {
		words = []string{h.Type}
	}
	if h.Shape != nil {
		dims := make([]string, len(h.Shape))
		for i, n := range h.Shape {
			dims[i] = fmt.Sprint(n)
		}
		words = append(words, "["+strings.Join(dims, ", ")+"]")
	}
	if h.Device != "" && h.Device != "cpu" {
		words = append(words, "on "+h.Device)
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

// text tells an agent what stayed in the sandbox, and what can be done with it.
func (h *handle) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "The result stayed in the sandbox, because it is large: %s, %s.", h.title(), size(h.Bytes))
	for _, key := range []string{"min", "max", "mean", "std", "nan"} {
		if v, ok := h.Stats[key]; ok {
			fmt.Fprintf(&b, " %s %v", key, v)
		}
	}
	if h.Preview != "" {
		b.WriteString("\n" + reply.Cut(h.Preview, 4<<10))
	}
	b.WriteString("\n" + h.next())
	return b.String()
}

// next is what an agent can do with a handle.
func (h *handle) next() string {
	return fmt.Sprintf("Pass {\"handle\": %q} as an argument to another tool, or look into it with the tool %s, such as {\"handle\": %q, \"index\": \"0:5\"} or {\"handle\": %q, \"reduce\": \"mean\", \"axis\": 0}.",
		h.ID, handleTool, h.ID, h.ID)
}

func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// gone forgets a handle that the sandbox does not have any more.
func (s *server) gone(id string, err error) {
	if isCall(err, protocol.CallHandleGone) {
		s.seen.remove(id)
		s.mcp.RemoveResources(handlesURI + id)
	}
}
