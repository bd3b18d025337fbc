package experiment

import (
	"slices"
	"strings"
)

// unstage turns the staged form, which has the sandbox's fields at the top,
// into the canonical one. Places keep the names that the user wrote.
func (s *source) unstage() {
	top, ok := s.root.(map[string]any)
	if !ok {
		return
	}
	var staged []string
	for _, f := range stagedFields() {
		if _, has := top[f.Key]; has {
			staged = append(staged, f.Key)
		}
	}
	if len(staged) == 0 {
		return
	}
	if _, canonical := top["sandbox"]; canonical {
		slices.SortFunc(staged, func(a, b string) int { return s.marks[a].line - s.marks[b].line })
		m := s.marks[staged[0]]
		s.fail(m.line, m.column, "the file mixes two forms: "+quoteAll(staged)+" at the top and `sandbox`",
			"move "+quoteAll(staged)+" under `sandbox`")
		for _, key := range staged {
			delete(top, key)
		}
		return
	}
	sandbox := map[string]any{}
	s.unstageGPU(top, sandbox)
	for from, to := range map[string]string{"image": "image", "models": "models", "github_repos": "repos"} {
		s.move(top, from, sandbox, "sandbox."+to)
	}
	first := s.marks[staged[0]]
	if _, serves := top["serve"]; !serves { // that form was made for notebooks
		sandbox["execution_mode"] = scalar{Tag: "!!str", Text: ModeNotebook}
	}
	s.marks["sandbox"] = mark{line: first.line, column: first.column, name: staged[0]}
	top["sandbox"] = sandbox
}

func (s *source) unstageGPU(top, sandbox map[string]any) {
	value, has := top["gpu"]
	if !has {
		return
	}
	delete(top, "gpu")
	if sc, ok := value.(scalar); ok && sc.null() {
		return
	}
	fields := stagedFields()[0]
	c := &checker{marks: s.marks}
	gpu, ok := c.value("gpu", value, fields).(map[string]any)
	s.errs = append(s.errs, c.errs...)
	if !ok || len(c.errs) > 0 {
		return
	}
	if gpu["use_model_volumes"] == true {
		text := func(t string) scalar { return scalar{Tag: "!!str", Text: t} }
		sandbox["volumes"] = []any{map[string]any{
			"name": text("seer-models"), "path": text("/model-volume"), "models": scalar{Tag: "!!bool", Text: "true"},
		}}
	}
	raw := value.(map[string]any)
	s.move(raw, "gpu_type", sandbox, "sandbox.gpu", "gpu.")
	s.move(raw, "gpu_count", sandbox, "sandbox.gpu_count", "gpu.")
}

// move takes a value to its canonical place, with its marks.
func (s *source) move(from map[string]any, key string, sandbox map[string]any, to string, prefix ...string) {
	value, has := from[key]
	if !has {
		return
	}
	delete(from, key)
	sandbox[strings.TrimPrefix(to, "sandbox.")] = value
	old := strings.Join(prefix, "") + key
	for at, m := range s.marks {
		rest, inside := strings.CutPrefix(at, old)
		if inside && (rest == "" || rest[0] == '.') && !strings.HasPrefix(at, "sandbox.") {
			m.name = at
			s.marks[to+rest] = m
		}
	}
}

func quoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, ", ")
}
