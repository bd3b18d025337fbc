package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/protocol/value"
)

// MaxImage is the largest image that is shown.
const MaxImage = reply.MaxImage

// shown is a value as a client can have it: JSON that anybody can read, in which
// images are named and beside which they stand.
type shown struct {
	json   json.RawMessage
	images []*mcp.ImageContent
	whole  *handle // the value itself stayed in the sandbox
	ids    []string
}

// handle is HANDLE of docs/protocol.md, 8.
type handle struct {
	ID      string         `json:"id"`
	Kind    string         `json:"kind,omitempty"`
	Type    string         `json:"type,omitempty"`
	Shape   []int64        `json:"shape,omitempty"`
	DType   string         `json:"dtype,omitempty"`
	Device  string         `json:"device,omitempty"`
	Bytes   int64          `json:"bytes"`
	Preview string         `json:"preview,omitempty"`
	Stats   map[string]any `json:"stats,omitempty"`
}

// show reads a value. Numbers and the order of keys stay as they are, unless images or
// handles are in it.
func show(b client.Body) (shown, error) {
	if data := b.JSON(); data != nil && !b.Tagged {
		if !utf8.Valid(data) || !json.Valid(data) { // it is passed on as it is
			return shown{}, errors.New("it is not valid JSON")
		}
		return shown{json: data}, nil
	}
	v, err := value.Parse(b.Data, b.Tagged, value.Limits{Bytes: 16 * MaxResult})
	if err != nil {
		return shown{}, err
	}
	tree, err := decode(v.JSON)
	if err != nil {
		return shown{}, err
	}
	s := &shown{}
	top, isHandle := tagOf(tree)[handleKey].(map[string]any)
	tree = s.name(tree, v.Parts)
	if len(s.images)+len(s.ids) > 0 {
		if v.JSON, err = json.Marshal(tree); err != nil {
			return shown{}, err
		}
	}
	if s.json, err = v.Plain(value.PlainOptions{Limit: MaxResult}); err != nil {
		return shown{}, err
	}
	if isHandle && top["id"] != nil {
		var whole struct {
			Handle *handle `json:"handle"`
		}
		if err := json.Unmarshal(s.json, &whole); err != nil {
			return shown{}, fmt.Errorf("the description of a handle: %w", err)
		}
		s.whole = whole.Handle
	}
	return *s, nil
}

// readItem reads an item of a stream.
func readItem(b client.Body) (json.RawMessage, error) {
	s, err := show(b)
	if errors.Is(err, value.ErrTooLarge) {
		return json.RawMessage(`"[an item that is too large to be shown]"`), nil
	}
	return s.json, err
}

// tagOf is what a tag says; nil for anything else.
func tagOf(v any) map[string]any {
	object, _ := v.(map[string]any)
	if len(object) != 1 {
		return nil
	}
	inner, _ := object[tag].(map[string]any)
	return inner
}

// name puts names in the place of images and handles. Other tags are left alone.
func (s *shown) name(v any, parts [][]byte) any {
	if inner := tagOf(v); inner != nil {
		if h, ok := inner[handleKey].(map[string]any); ok {
			if id, ok := h["id"].(string); ok {
				s.ids = append(s.ids, id)
			}
			return map[string]any{handleKey: h}
		}
		if image, ok := inner["image"].(map[string]any); ok {
			if text := s.image(image, parts); text != "" {
				return text
			}
		}
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = s.name(v[i], parts)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) { // images are numbered
			v[k] = s.name(v[k], parts)
		}
	}
	return v
}

// image takes an image aside. It is left where it is if clients cannot show it.
func (s *shown) image(image map[string]any, parts [][]byte) string {
	format, _ := image["format"].(string)
	number, _ := image["buffer"].(json.Number)
	n, err := number.Int64()
	if err != nil || n < 1 || n > int64(len(parts)) || len(parts[n-1]) > MaxImage {
		return ""
	}
	switch format = strings.ToLower(format); format {
	case "png", "jpeg", "gif", "webp":
	default:
		return ""
	}
	s.images = append(s.images, &mcp.ImageContent{Data: parts[n-1], MIMEType: "image/" + format})
	size, _ := image["size"].([]any)
	if len(size) != 2 {
		return fmt.Sprintf("[image %d: %s]", len(s.images), format)
	}
	return fmt.Sprintf("[image %d: %s, %v x %v]", len(s.images), format, size[0], size[1])
}
