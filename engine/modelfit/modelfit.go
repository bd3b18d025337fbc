// Package modelfit computes what a model needs of a GPU from its config.json and the headers
// of its safetensors files, or from those of its GGUF files. It reads no file and asks no network.
package modelfit

import (
	"math"

	"github.com/seer-engine/seer/engine/safetensors"
)

// Weights are the tensors of a model in all.
type Weights struct {
	Elements int64            // of all tensors; of a packed quantized model fewer than its parameters
	Bytes    int64            // in the files, which is what the GPU holds unless they are loaded in another data type
	ByDType  map[string]int64 // bytes for each data type, as the files name it
}

// Count adds up the tensors of the headers of all files of one model.
func Count(headers ...safetensors.Header) Weights {
	w := Weights{ByDType: map[string]int64{}}
	for _, h := range headers {
		for _, t := range h.Tensors {
			w.Elements = sum(w.Elements, t.Elements())
			w.Bytes = sum(w.Bytes, t.Bytes)
			w.ByDType[t.DType] = sum(w.ByDType[t.DType], t.Bytes)
		}
	}
	return w
}

// product multiplies numbers that are not negative; what does not fit is [math.MaxInt64].
func product(factors ...int64) int64 {
	all := int64(1)
	for _, f := range factors {
		if f == 0 {
			return 0
		}
	}
	for _, f := range factors {
		if f < 0 || all > math.MaxInt64/f {
			return math.MaxInt64
		}
		all *= f
	}
	return all
}

// sum adds numbers that are not negative; what does not fit is [math.MaxInt64].
func sum(terms ...int64) (all int64) {
	for _, t := range terms {
		if t > math.MaxInt64-all {
			return math.MaxInt64
		}
		all += t
	}
	return all
}
