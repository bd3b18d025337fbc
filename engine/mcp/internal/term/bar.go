package term

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

// Bar is how far a progress bar of tqdm has come.
type Bar struct {
	N       float64 `json:"n"`
	Total   float64 `json:"total"`
	Message string  `json:"message,omitempty"` // what stands around the bar
}

// barLine matches "epoch 2:  45%|████▌     | 4.5k/10.0k [00:10<00:12, 4.4it/s]".
var barLine = lazyregexp.New(`^(.*?):?\s*\d{1,3}%\|[^|]*\|\s*([\d.]+)([kKMGTP]?)[^\s/]*/([\d.]+)([kKMGTP]?)[^\s\[]*\s*(?:\[(.*?)\]?)?\s*$`)

// ParseBar reads a line that tqdm has drawn.
func ParseBar(line string) (Bar, bool) {
	m := barLine().FindStringSubmatch(line)
	if m == nil {
		return Bar{}, false
	}
	n, err := strconv.ParseFloat(m[2], 64)
	total, err2 := strconv.ParseFloat(m[4], 64)
	if err != nil || err2 != nil || total <= 0 || n < 0 {
		return Bar{}, false
	}
	b := Bar{N: n * unit(m[3]), Total: total * unit(m[5])}
	b.Message = strings.TrimSpace(strings.TrimSpace(m[1]) + " " + strings.TrimSpace(m[6]))
	return b, b.N <= b.Total
}

func unit(letter string) float64 {
	switch letter {
	case "k", "K":
		return 1e3
	case "M":
		return 1e6
	case "G":
		return 1e9
	case "T":
		return 1e12
	case "P":
		return 1e15
	}
	return 1
}

// Text is the bar as an agent reads it.
func (b *Bar) Text() string {
	text := fmt.Sprintf("%g/%g", b.N, b.Total)
	if b.Message != "" {
		text += " " + b.Message
	}
	return text
}
