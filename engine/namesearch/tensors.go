package namesearch

import (
	"encoding/json"
	"errors"
)

// TensorsEnd is where the tensors of a file of safetensors end, counted from the end of
// its header. It is an error where bytes between them belong to none.
func TensorsEnd(header []byte) (int64, error) {
	var tensors map[string]struct {
		Offsets []int64 `json:"data_offsets"`
	}
	if err := json.Unmarshal(header, &tensors); err != nil {
		return 0, err
	}
	end, sum := int64(0), int64(0)
	for name, t := range tensors {
		if name == "__metadata__" {
			continue
		}
		if len(t.Offsets) != 2 || t.Offsets[0] < 0 || t.Offsets[1] < t.Offsets[0] {
			return 0, errors.New("the tensor " + name + " has no place in it")
		}
		end = max(end, t.Offsets[1])
		sum += t.Offsets[1] - t.Offsets[0]
	}
	if sum != end {
		return 0, errors.New("bytes between its tensors belong to none")
	}
	return end, nil
}
