package stream

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/seer-engine/seer/sdk"
)

// delivery is an event with its payload.
type delivery struct {
	sdk.Event
	payload []byte
}

// parse takes a block of [sdk.HostStreamWait] apart. Payloads share its memory.
func parse(block []byte) ([]delivery, error) {
	var all []delivery
	for len(block) > 0 {
		if len(block) < 4 {
			return nil, fmt.Errorf("%d bytes where the length of an event is expected", len(block))
		}
		n := uint64(binary.LittleEndian.Uint32(block))
		block = block[4:]
		if n > uint64(len(block)) {
			return nil, fmt.Errorf("an event of %d bytes, of which there are %d", n, len(block))
		}
		var d delivery
		if err := json.Unmarshal(block[:n], &d.Event); err != nil {
			return nil, err
		}
		block = block[n:]
		if d.Size < 0 || d.Size > len(block) {
			return nil, fmt.Errorf("a payload of %d bytes, of which there are %d", d.Size, len(block))
		}
		d.payload, block = block[:d.Size:d.Size], block[d.Size:]
		all = append(all, d)
	}
	return all, nil
}
