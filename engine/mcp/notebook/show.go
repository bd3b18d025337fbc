package notebook

import (
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/internal/reply"
)

// maxText is how much text of an execution is shown.
const maxText = 16 << 10

// shown is an output as an agent sees it.
type shown struct {
	Type   string `json:"type"` // stream, result, display, error, note
	Name   string `json:"name,omitempty"`
	MIME   string `json:"mime,omitempty"`
	Text   string `json:"text,omitempty"`
	EName  string `json:"ename,omitempty"`
	EValue string `json:"evalue,omitempty"`
	Image  int    `json:"image,omitempty"` // its number among the images beside
	Note   string `json:"note,omitempty"`  // about the image
}

// show is what an agent sees of the outputs: as much text as limit, and the images
// beside it. first is the number of the first image.
func (o *outputs) show(limit, first int) ([]shown, []mcp.Content) {
	spans := make([]span, len(o.list))
	total := 0
	for i, n := range o.list {
		spans[i] = n.whole()
		total += spans[i].size
	}
	cuts := share(spans, total, limit)
	list, images := []shown{}, []mcp.Content(nil)
	gap, gapBytes := 0, 0
	close := func() {
		if gap > 0 {
			list = append(list, shown{Type: "note", Text: fmt.Sprintf("[cut by Seer: %d bytes in %d outputs left out%s]", gapBytes, gap, whereIs(o.where))})
			gap, gapBytes = 0, 0
		}
	}
	for i, n := range o.list {
		if o.omitted > 0 && i == maxOutputs/2 {
			close()
			list = append(list, shown{Type: "note", Text: fmt.Sprintf("[%d outputs left out%s]", o.omitted, whereIs(o.where))})
		}
		c := cuts[i]
		if c.head+c.tail == 0 && spans[i].size > 0 && n.picture == nil {
			gap, gapBytes = gap+1, gapBytes+spans[i].size
			continue
		}
		close()
		s := shown{Type: n.kind, Name: n.name, MIME: n.mime, EName: n.ename, EValue: reply.Cut(n.evalue, 1000), Text: spans[i].show(c, o.wholeOf(n))}
		if p := n.picture; p != nil {
			s.Note = p.note
			if p.data != nil {
				images = append(images, &mcp.ImageContent{Data: p.data, MIMEType: p.mime})
				s.Image = first + len(images) - 1
			}
		}
		list = append(list, s)
	}
	close()
	return list, images
}

// wholeOf is where the whole text of an output is.
func (o *outputs) wholeOf(n *output) string {
	if n.kind == "stream" {
		return o.where
	}
	return ""
}

func whereIs(uri string) string {
	if uri == "" {
		return "; the notebook has more"
	}
	return "; the whole is " + uri
}

// cutting is how much of a text's beginning and end is shown.
type cutting struct{ head, tail int }

// share gives half of the limit to the beginning of the texts and half to their end.
func share(spans []span, total, limit int) []cutting {
	cuts := make([]cutting, len(spans))
	if total <= limit {
		for i := range spans {
			cuts[i].head = spans[i].size
		}
		return cuts
	}
	head, tail := limit/2, limit-limit/2
	for i := range spans {
		cuts[i].head = min(head, spans[i].size)
		head -= cuts[i].head
	}
	for i := len(spans) - 1; i >= 0; i-- {
		cuts[i].tail = min(tail, spans[i].size-cuts[i].head)
		tail -= cuts[i].tail
	}
	return cuts
}

func (s *span) show(c cutting, uri string) string {
	if c.head+c.tail >= s.size && s.whole() {
		return s.first(s.size)
	}
	head, tail := s.first(min(c.head, keep)), s.last(min(c.tail, keep))
	whole := "the notebook has more"
	if uri != "" {
		whole = "the whole is " + uri
	}
	return reply.Joined(head, tail, int64(s.size-len(head)-len(tail)), whole)
}
