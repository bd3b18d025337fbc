package repl

import "fmt"

// MaxOutput is how many bytes of a stream an answer shows. Of more, the middle is left
// out.
const MaxOutput = 16 << 10

// Clip keeps the beginning and the end of what is written to it.
type Clip struct {
	head, tail []byte
	size       int64
}

const half = MaxOutput / 2

func (c *Clip) Write(data []byte) (int, error) {
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

// Parts are the beginning and the end of what was written, and how much between them is
// left out.
func (c *Clip) Parts() (head, tail string, omitted int64) {
	return string(c.head), string(c.tail), c.size - int64(len(c.head)+len(c.tail))
}

// String is what is kept, with a mark where something is left out.
func (c *Clip) String() string {
	head, tail, omitted := c.Parts()
	if omitted == 0 {
		return head + tail
	}
	return fmt.Sprintf("%s\n[%d bytes left out]\n%s", head, omitted, tail)
}
