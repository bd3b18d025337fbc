package blinding

import (
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/engine/namesearch"
)

// kind is how a file is blinded.
type kind int

const (
	other         kind = iota // searched, and copied as it is
	configuration             // only what loading needs keeps its value
	otherJSON                 // names in values are replaced
	indexFile                 // of the parts of weights
	vocabulary                // searched for whole names
	template
	tensorFile
)

const maxJSON = 64 << 20

func kindOf(path string, size int64) kind {
	name := strings.ToLower(filepath.Base(path))
	extension := filepath.Ext(name)
	switch {
	case extension == ".safetensors":
		return tensorFile
	case namesearch.IsVocabulary(name):
		return vocabulary
	case extension == ".jinja":
		return template
	case extension != ".json" || size > maxJSON:
		return other
	case strings.HasSuffix(name, ".index.json"):
		return indexFile
	case strings.HasSuffix(name, "config.json"), name == "special_tokens_map.json", name == "added_tokens.json", name == "chat_template.json":
		return configuration
	}
	return otherJSON
}

// notLoaded tells files that nothing loads: texts and pictures for people, and what
// training leaves behind.
func notLoaded(name string) bool {
	lower := strings.ToLower(name)
	for _, prefix := range []string{"license", "notice", "readme", "use_policy", "modelcard", "model_card", "events.out.tfevents", "rng_state", "optimizer.",
		"scheduler.", "training_args.", "trainer_state.", "trainer_log."} {
		if strings.HasPrefix(lower, prefix) {
			return true
		}
	}
	for _, suffix := range []string{".md", ".pdf", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".html", ".log", "_results.json"} {
		if strings.HasSuffix(lower, suffix) {
			return true
		}
	}
	return lower == "runs" || lower == "wandb" || lower == "logs" || lower == "data_config.json"
}
