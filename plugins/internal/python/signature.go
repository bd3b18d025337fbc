package python

import (
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// Param is a parameter with the name it has in the source that is written.
type Param struct {
	sdk.Param
	As string
}

// Params names parameters so that they clash neither with keywords nor with each
// other nor with what is taken.
func Params(params []sdk.Param, taken map[string]bool) []Param {
	own := map[string]bool{}
	for name := range taken {
		own[name] = true
	}
	out := make([]Param, len(params))
	for i, p := range params {
		out[i] = Param{p, Name(p.Name, own)}
	}
	return out
}

// Signature writes what stands between a function's name and the colon. Default
// gives the source text of a parameter's default.
func Signature(params []Param, returns string, defaultOf func(Param) string) string {
	var parts []string
	star := false // everything after it is keyword-only
	for i, p := range params {
		switch p.Kind {
		case sdk.VarPositional:
			star = true
		case sdk.KeywordOnly:
			if !star {
				parts = append(parts, "*")
				star = true
			}
		}
		parts = append(parts, parameter(p, defaultOf))
		lastPositional := i+1 == len(params) || params[i+1].Kind != sdk.PositionalOnly
		if p.Kind == sdk.PositionalOnly && lastPositional {
			parts = append(parts, "/")
		}
	}
	out := "(" + strings.Join(parts, ", ") + ")"
	if returns != "" {
		out += " -> " + Annotation(returns)
	}
	return out
}

func parameter(p Param, defaultOf func(Param) string) string {
	text := p.As
	switch p.Kind {
	case sdk.VarPositional:
		text = "*" + text
	case sdk.VarKeyword:
		text = "**" + text
	}
	equals := "="
	if p.Annotation != "" {
		text += ": " + Annotation(p.Annotation)
		equals = " = "
	}
	if p.HasDefault {
		text += equals + defaultOf(p)
	}
	return text
}

// Shown is a default for people: short, and not necessarily source text.
func Shown(p Param) string {
	switch {
	case strings.ContainsAny(p.DefaultRepr, "\r\n"):
	case p.DefaultRepr != "" && len(p.DefaultRepr) <= 80:
		return p.DefaultRepr
	case len(p.Default) > 0 && len(p.Default) <= 80:
		if literal, _, err := FromJSON(p.Default); err == nil {
			return literal
		}
	}
	return "..."
}
