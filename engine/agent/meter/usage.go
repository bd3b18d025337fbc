package meter

import (
	"strconv"
	"strings"
)

// figure is a number of tokens that an answer states.
type figure int

const (
	fInput figure = iota
	fOutput
	fThoughts // output, not included in fOutput
	fTools    // input, not included in fInput
	fCacheRead
	fCacheWrite
	fCacheWriteHour // included in fCacheWrite
	figures

	fText    // no number: output of the model, whose size counts
	fModel   // no number: the model's name
	fProblem // no number: the message of an error
	fTotal   // all tokens; an answer with it also states the output, unless that is 0
)

// openAIFields are the common fields of the answers of OpenAI's interfaces.
func openAIFields(more map[string]figure) map[string]figure {
	more["model"], more["error.message"] = fModel, fProblem
	return more
}

// fields are the paths of the values in the answers of an interface. An answer of a stream may have
// them in "message" or "response".
var fields = map[string]map[string]figure{
	anthropic: {
		"model": fModel, "error.message": fProblem,
		"usage.input_tokens": fInput, "usage.output_tokens": fOutput,
		"usage.cache_read_input_tokens": fCacheRead, "usage.cache_creation_input_tokens": fCacheWrite,
		"usage.cache_creation.ephemeral_1h_input_tokens": fCacheWriteHour,
		"delta.text": fText, "delta.thinking": fText, "delta.partial_json": fText, "content.text": fText, "content.thinking": fText,
	},
	responses: openAIFields(map[string]figure{
		"usage.input_tokens": fInput, "usage.output_tokens": fOutput, "usage.input_tokens_details.cached_tokens": fCacheRead,
		"delta": fText, "output.content.text": fText, "output.arguments": fText,
	}),
	chat: openAIFields(map[string]figure{
		"usage.prompt_tokens": fInput, "usage.completion_tokens": fOutput, "usage.prompt_tokens_details.cached_tokens": fCacheRead,
		"usage.total_tokens":    fTotal,
		"choices.delta.content": fText, "choices.delta.reasoning_content": fText, "choices.delta.reasoning": fText,
		"choices.delta.tool_calls.function.arguments": fText,
		"choices.message.content":                     fText, "choices.message.reasoning_content": fText, "choices.text": fText,
		"choices.message.tool_calls.function.arguments": fText,
	}),
	gemini: {
		"modelVersion": fModel, "error.message": fProblem,
		"usageMetadata.promptTokenCount": fInput, "usageMetadata.candidatesTokenCount": fOutput,
		"usageMetadata.thoughtsTokenCount": fThoughts, "usageMetadata.toolUsePromptTokenCount": fTools,
		"usageMetadata.cachedContentTokenCount": fCacheRead,
		"usageMetadata.totalTokenCount":         fTotal,
		"candidates.content.parts.text":         fText,
	},
}

// most limits a number of tokens, so that the sums do not overflow with a broken server.
const most = 1 << 40

// stated are the values that an answer has stated so far.
type stated struct {
	fields map[string]figure

	model, problem string
	tokens         [figures]int64
	has            [figures]bool
	final          bool  // the output is that of the whole answer
	text           int64 // bytes of the model's output
}

func newStated(api string) *stated { return &stated{fields: fields[api]} }

// found handles a value of the answer. The output in the first event of Anthropic's streams is not
// final.
func (s *stated) found(path, value string, size int64) {
	f, is := s.fields[path]
	inner := false
	if !is {
		for _, outer := range []string{"message.", "response."} {
			if rest, cut := strings.CutPrefix(path, outer); cut {
				f, is = s.fields[rest]
				inner = outer == "message."
			}
		}
	}
	if !is || value == "null" {
		return
	}
	switch f {
	case fText:
		s.text += size
	case fModel:
		s.model = value
	case fProblem:
		s.problem = value
	case fTotal:
		s.final = true
	default:
		s.count(f, value)
		s.final = s.final || f == fOutput && !inner
	}
}

// count handles a number. The largest number counts: those of a stream are cumulative, and some
// servers state zeros at its beginning or end.
func (s *stated) count(f figure, value string) {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || n < 0 || n > most {
		return
	}
	s.tokens[f], s.has[f] = max(s.tokens[f], int64(n)), true
}

// usage is the usage of a request, in tokens.
type usage struct {
	input, output, cacheRead, cacheWrite int64
	cacheWriteHour                       int64 // included in cacheWrite: entries that stay for an hour
	estimated                            bool
}

// usage computes the usage from an answer. asked is the number of bytes of the request's text.
func (s *stated) usage(api string, asked int64) usage {
	u := usage{
		input: s.tokens[fInput] + s.tokens[fTools], output: s.tokens[fOutput] + s.tokens[fThoughts],
		cacheRead: s.tokens[fCacheRead], cacheWrite: s.tokens[fCacheWrite],
		cacheWriteHour: min(s.tokens[fCacheWriteHour], s.tokens[fCacheWrite]),
	}
	if api != anthropic { // their input includes the tokens of the cache
		u.cacheRead = min(u.cacheRead, u.input)
		u.input -= u.cacheRead
	}
	if !s.has[fInput] && !s.has[fCacheRead] {
		u.input, u.estimated = tokensOf(asked), true
	}
	if !s.final {
		u.output, u.estimated = max(u.output, tokensOf(s.text)), true
	}
	return u
}

// tokensOf estimates the tokens of a text: English has about four bytes per token.
func tokensOf(bytes int64) int64 { return (bytes + 3) / 4 }
