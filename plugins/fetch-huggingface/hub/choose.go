package hub

import (
	"path"
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// choose divides the files of a repository into those that are wanted and those that the
// default leaves out. Files that the user asks for by patterns are not left out; a user who
// only excludes some gets the default of the rest.
func choose(all []sdk.ModelFile, ref sdk.ModelRef, kind string) (files, omitted []sdk.ModelFile) {
	for _, f := range all {
		if ref.Wants(f.Path) {
			files = append(files, f)
		}
	}
	if kind == "datasets" || len(ref.Include) > 0 {
		return files, nil
	}
	return chooseDefault(files)
}

// otherWeights are the endings of formats that copy what safetensors has.
var otherWeights = []string{".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack", ".ot", ".onnx", ".onnx_data", ".tflite", ".gguf", ".mlmodel", ".nemo"}

// otherFolders hold the model once more, for other programs.
var otherFolders = []string{"onnx", "openvino", "coreml", "original", "tf", "flax", "gguf"}

// chooseDefault leaves out copies of the weights in other formats, where the repository has
// safetensors; and pictures and videos of the model's page.
func chooseDefault(all []sdk.ModelFile) (files, omitted []sdk.ModelFile) {
	safe := slices.ContainsFunc(all, func(f sdk.ModelFile) bool { return strings.HasSuffix(f.Path, ".safetensors") && !inOtherFolder(f.Path) })
	for _, f := range all {
		if isMedia(f.Path) || safe && (isOtherWeight(f.Path) || inOtherFolder(f.Path)) {
			omitted = append(omitted, f)
			continue
		}
		files = append(files, f)
	}
	return files, omitted
}

func isOtherWeight(file string) bool {
	name := strings.TrimSuffix(path.Base(file), ".index.json")
	return slices.Contains(otherWeights, path.Ext(name)) && name != "training_args.bin" || name == "tf_model" || name == "flax_model"
}

func inOtherFolder(file string) bool {
	top, _, nested := strings.Cut(file, "/")
	return nested && slices.Contains(otherFolders, strings.ToLower(top))
}

func isMedia(file string) bool {
	return slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".mp4", ".webm", ".mov"}, strings.ToLower(path.Ext(file)))
}
