package notebook

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/notebook"
)

// TestFill gives a page no more text than its client shows, and says where the next is.
func TestFill(t *testing.T) {
	t.Parallel()
	line, err := json.Marshal(strings.Repeat("0123456789abcde\n", 1200))
	if err != nil {
		t.Fatal(err)
	}
	var found notebook.Cells
	for i := range 20 {
		cell := fmt.Sprintf(`{"index":%d,"id":"c%d","type":"code","source":"print(text)","state":"idle","outputs":[{"output_type":"stream","name":"stdout","text":%s}]}`, i, i, line)
		var c notebook.Cell
		if err := json.Unmarshal([]byte(cell), &c); err != nil {
			t.Fatal(err)
		}
		found.Cells = append(found.Cells, c)
	}
	found.Total = len(found.Cells)
	for _, full := range []bool{true, false} {
		for _, room := range []int{8 << 10, readBytes} {
			p, _ := fill(found, full, room)
			size := 0
			for _, c := range p.Cells {
				size += len(c.Source)
				for _, o := range c.Outputs {
					size += len(o.Text)
				}
			}
			marks := 200 * len(p.Cells)
			if len(p.Cells) == 0 || size > room+marks || full && size < min(room, maxText)/2 {
				t.Errorf("full %v, room %d: %d cells with %d bytes", full, room, len(p.Cells), size)
			}
			if whole := len(p.Cells) == len(found.Cells); whole == (p.Next != "") {
				t.Errorf("full %v, room %d: %d cells and then %q", full, room, len(p.Cells), p.Next)
			}
		}
	}
}
