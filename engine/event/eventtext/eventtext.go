// Package eventtext says in one sentence what an event tells, for programs that show events
// to people.
package eventtext

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/internal/text"
)

// Sentence is the event in English: no capital at the beginning, no full stop, sometimes
// several lines. It contains text of providers and of the experiment as it is; sanitize it for a
// terminal. An event of an unknown type gives its type and its data.
func Sentence(e event.Event) string {
	t := parsed().Lookup(key(e.Data))
	if t == nil {
		data, _ := json.Marshal(e.Data) // what cannot be written is left out
		return string(e.Type) + " " + string(data)
	}
	var b strings.Builder
	if err := t.Execute(&b, e.Data); err != nil {
		return string(e.Type)
	}
	return b.String()
}

// key is the name of the template for data: Output and Copied have one for all stages.
func key(d event.Data) string {
	switch d.(type) {
	case event.Output:
		return "output"
	case event.Copied:
		return "copied"
	}
	return string(event.TypeOf(d))
}

// maxListed is how many words of a list a sentence has.
const maxListed = 12

var parsed = sync.OnceValue(func() *template.Template {
	all := template.New("").Funcs(template.FuncMap{
		"bytes":  func(n int64) string { return text.Bytes(n) },
		"plural": func(n any, word string) string { return text.Plural(count(n), word) },
		"list":   func(words []string) string { return strings.Join(words, ", ") },
		"and":    func(words []string) string { return strings.Join(words, " and ") },
		"quoted": strconv.Quote,
		"update": updateText,
		"rate":   func(n float64) string { return text.Bytes(int64(n)) },

		"duration": text.Duration,
		"some": func(words []string) string {
			if len(words) <= maxListed {
				return strings.Join(words, ", ")
			}
			return strings.Join(words[:maxListed], ", ") + " and " + strconv.Itoa(len(words)-maxListed) + " more"
		},
		"gib": func(n int64) float64 { return float64(n) / (1 << 30) },
	})
	for name, sentence := range sentences {
		template.Must(all.New(name).Parse(sentence))
	}
	return all
})

func count(n any) int {
	if wide, ok := n.(int64); ok {
		return int(wide)
	}
	return n.(int)
}
