// Package modelfit computes what a model needs of a GPU from its config.json and the headers
// of its safetensors files. It reads no file and asks no network.
package modelfit

// Weights are the tensors of a model in all.
type Weights struct {
	Elements int64            // of all tensors; of a packed quantized model fewer than its parameters
	Bytes    int64            // in the files, which is what the GPU holds unless they are loaded in another data type
	ByDType  map[string]int64 // bytes for each data type, as the files name it
}

// Count adds up the tensors of the headers of all files of one model.
func Count(headers ...map[string]Tensor) Weights {
	w := Weights{ByDType: map[string]int64{}}
	for _, tensors := range headers {
		for _, t := range tensors {
			w.Elements = sum(w.Elements, t.Elements())
			w.Bytes = sum(w.Bytes, t.Bytes)
			w.ByDType[t.DType] = sum(w.ByDType[t.DType], t.Bytes)
		}
	}
	return w
}
