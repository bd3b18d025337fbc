package shell

import (
	"strings"

	"github.com/seer-engine/seer/engine/mcp/front"
)

// MaxOutput is how many bytes of a stream an answer shows. Of more, the middle is left
// out.
const MaxOutput = 16 << 10

// clip keeps the beginning and the end of what is written to it.
type clip struct {
	head, tail []byte
	size       int64
}

const half = MaxOutput / 2

func (c *clip) Write(data []byte) (int, error) {
	n := len(data)
	c.size += int64(n)
	if room := half - len(c.head); room > 0 {
		k := min(room, len(data))
		c.head, data = append(c.head, data[:k]...), data[k:]
	}
	if len(data) > half {
		c.tail, data = c.tail[:0], data[len(data)-half:]
	}
	c.tail = append(c.tail, data...)
	if over := len(c.tail) - half; over > 0 {
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
	return n, nil
}

// text is what was written, without colours; whole says where all of it is.
func (c *clip) text(whole string) string {
	omitted := c.size - int64(len(c.head)+len(c.tail))
	if omitted == 0 {
		return plain(string(c.head) + string(c.tail))
	}
	return front.Joined(plain(string(c.head)), plain(string(c.tail)), omitted, whole)
}

// plain is text as it can be sent.
func plain(text string) string { return front.StripANSI(strings.ToValidUTF8(text, "\uFFFD")) }
