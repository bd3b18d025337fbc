package hub

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// choose divides the files of a repository into those that are wanted and those that the
// default leaves out. Patterns of the user replace the default.
func choose(all []sdk.ModelFile, ref sdk.ModelRef, kind string) (files, omitted []sdk.ModelFile) {
	if len(ref.Include) == 0 && len(ref.Exclude) == 0 {
		if kind == "datasets" {
			return all, nil
		}
		return chooseDefault(all)
	}
	for _, f := range all {
		if (len(ref.Include) == 0 || matchesAny(ref.Include, f.Path)) && !matchesAny(ref.Exclude, f.Path) {
			files = append(files, f)
		}
	}
	return files, nil
}

// matchesAny takes patterns as the Hub's own library does: * and ? match every character, a
// slash too, and a pattern that ends with a slash is all below it.
func matchesAny(patterns []string, file string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if strings.HasSuffix(p, "/") {
			p += "*"
		}
		re, err := regexp.Compile("^(?s:" + fnmatch(p) + ")$")
		return err == nil && re.MatchString(file)
	})
}

// fnmatch is a regular expression for a pattern of Python's fnmatch.
func fnmatch(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			b.WriteString(".*")
		case '?':
			b.WriteString(".")
		case '[':
			set, ok := characterSet(pattern[i+1:])
			if !ok {
				b.WriteString(`\[`)
				continue
			}
			b.WriteString(classOf(set))
			i += len(set) + 1
		default:
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	return b.String()
}

// characterSet is what stands before the bracket that closes a set. A bracket that comes
// first belongs to the set.
func characterSet(rest string) (string, bool) {
	from := 0
	if strings.HasPrefix(rest, "!") {
		from = 1
	}
	if from < len(rest) && rest[from] == ']' {
		from++
	}
	end := strings.IndexByte(rest[min(from, len(rest)):], ']')
	if end < 0 {
		return "", false
	}
	return rest[:from+end], true
}

func classOf(set string) string {
	set = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `^`, `\^`).Replace(set)
	if rest, ok := strings.CutPrefix(set, "!"); ok {
		return "[^" + rest + "]"
	}
	return "[" + set + "]"
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
