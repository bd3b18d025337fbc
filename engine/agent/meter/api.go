package meter

import (
	"encoding/json"
	"net/http"
	"path"
	"strings"
)

// The names of the interfaces, as in [event.ModelRequest].
const (
	anthropic = "anthropic"
	responses = "responses"
	chat      = "chat"
	gemini    = "gemini"
)

// endings are the ends of the paths of requests with a cost. Each has its interface, and whether the
// answer can be a turn of a conversation.
var endings = []struct {
	path, api string
	turn      bool
}{
	{"/messages", anthropic, true},
	{"/responses", responses, true},
	{"/responses/compact", responses, false},
	{"/completions", chat, true},
	{"/embeddings", chat, false},
	{":generateContent", gemini, true},
	{":streamGenerateContent", gemini, true},
	{":embedContent", gemini, false},
	{":batchEmbedContents", gemini, false},
}

// isTurn reports whether the answer to a metered request can be a turn of a conversation.
func isTurn(p string) bool {
	for _, e := range endings {
		if e.turn && strings.HasSuffix(p, e.path) {
			return true
		}
	}
	return false
}

// free are the ends of the paths of requests without a cost.
var free = []string{"/count_tokens", ":countTokens", "/responses/input_tokens"}

// route classifies a request. A metered request has an api. The proxy forwards or refuses others.
func route(method, p string) (api string, passed bool) {
	if !plainPath(p) {
		return "", false
	}
	switch method {
	case http.MethodGet, http.MethodHead:
		return "", strings.HasSuffix(p, "/models") || strings.Contains(p, "/models/") && !strings.Contains(p, ":")
	case http.MethodPost:
		for _, e := range endings {
			if strings.HasSuffix(p, e.path) {
				return e.api, true
			}
		}
		for _, end := range free {
			if strings.HasSuffix(p, end) {
				return "", true
			}
		}
	}
	return "", false
}

// plainPath reports whether every server interprets a path in the same way. A server could shorten
// or decode another path, so that a counted path leads to another one.
func plainPath(p string) bool {
	return strings.HasPrefix(p, "/") && path.Clean(p) == p && !strings.ContainsAny(p, "%\\;")
}

// modelOfPath returns the model in a path of Gemini.
func modelOfPath(p string) string {
	name := path.Base(p)
	name, _, found := strings.Cut(name, ":")
	if !found {
		return ""
	}
	return name
}

// failure is one of the proxy's own errors.
type failure struct {
	status int
	// Kinds of the error: for Anthropic, for OpenAI, for Gemini.
	anthropic, openAI, gemini string
}

var (
	noToken   = failure{http.StatusUnauthorized, "authentication_error", "invalid_api_key", "UNAUTHENTICATED"}
	noPath    = failure{http.StatusNotFound, "not_found_error", "not_found", "NOT_FOUND"}
	noAnswer  = failure{http.StatusBadGateway, "api_error", "server_error", "UNAVAILABLE"}
	noMoney   = failure{http.StatusBadRequest, "invalid_request_error", "budget_spent", "FAILED_PRECONDITION"}
	noTurns   = failure{http.StatusBadRequest, "invalid_request_error", "max_turns_reached", "FAILED_PRECONDITION"}
	noPrice   = failure{http.StatusBadRequest, "invalid_request_error", "price_unknown", "FAILED_PRECONDITION"}
	cancelled = failure{499, "api_error", "cancelled", "CANCELLED"} // the agent has gone
)

// send answers in the error format of an interface. Except for an upstream that does not answer, a
// header tells clients of Anthropic and OpenAI not to repeat the request.
func (f failure) send(w http.ResponseWriter, api, message string) {
	type object = map[string]any
	var body object
	switch api {
	case anthropic:
		body = object{"type": "error", "error": object{"type": f.anthropic, "message": message}}
	case gemini:
		body = object{"error": object{"code": f.status, "message": message, "status": f.gemini}}
	default:
		body = object{"error": object{"message": message, "type": "invalid_request_error", "code": f.openAI, "param": nil}}
	}
	data, _ := json.Marshal(body) // texts and numbers
	if f.status != http.StatusBadGateway {
		w.Header().Set("X-Should-Retry", "false")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	_, _ = w.Write(data) // an agent that has gone misses nothing
}
