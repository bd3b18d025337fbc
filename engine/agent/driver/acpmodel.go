package driver

import (
	"fmt"
	"slices"
	"strings"
)

// chooseModel returns the request that chooses a model in a new session. An empty method means that
// the session has the model already, or offers no choice. why is the error for a model that the
// session does not offer.
//
// Agents offer models in two ways: as an option of the session, or, before that, as a list.
func chooseModel(session object, model string) (method string, params map[string]any, why string) {
	if model == "" {
		return "", nil, ""
	}
	for _, option := range session.objects("configOptions") {
		if option.text("category") != "model" && option.text("id") != "model" {
			continue
		}
		found, same, why := offered(option.text("currentValue"), model, values(option.objects("options")))
		if same || why != "" {
			return "", nil, why
		}
		return "session/set_config_option", map[string]any{"configId": option.text("id"), "value": found}, ""
	}
	models := session.object("models")
	if models == nil {
		return "", nil, ""
	}
	var ids []string
	for _, m := range models.objects("availableModels") {
		ids = append(ids, m.text("modelId"))
	}
	found, same, why := offered(models.text("currentModelId"), model, ids)
	if same || why != "" {
		return "", nil, why
	}
	return "session/set_model", map[string]any{"modelId": found}, ""
}

// values returns the values of a choice, including those in groups.
func values(options []object) []string {
	var out []string
	for _, o := range options {
		if value := o.text("value"); value != "" {
			out = append(out, value)
		}
		for _, inner := range o.objects("options") {
			out = append(out, inner.text("value"))
		}
	}
	return out
}

// offered finds a model among IDs, which may have a provider as prefix, as in seer/gpt-5.
func offered(current, model string, ids []string) (id string, same bool, why string) {
	is := func(id string) bool { return id == model || strings.HasSuffix(id, "/"+model) }
	if is(current) {
		return "", true, ""
	}
	if at := slices.IndexFunc(ids, is); at >= 0 {
		return ids[at], false, ""
	}
	const shown = 20
	list := strings.Join(ids[:min(len(ids), shown)], ", ")
	if len(ids) > shown {
		list += fmt.Sprintf(" and %d more", len(ids)-shown)
	}
	return "", false, fmt.Sprintf("the agent does not offer the model %q; it offers %s", model, list)
}
