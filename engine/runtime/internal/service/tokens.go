package service

import (
	"crypto/subtle"
	"encoding/json"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/lazyregexp"
)

var tokenID = lazyregexp.New(`^t-[A-Za-z0-9_-]{1,98}$`)

const maxTokens = 1000 // of a service

// checkToken refuses a token whose limits would not mean what its creator
// expects.
func checkToken(t protocol.Token) error {
	switch {
	case !tokenID().MatchString(t.ID):
		return protocol.Errorf(protocol.Invalid, "the token id %q is not t- and up to 98 letters, digits, _ and -", t.ID)
	case len(t.SHA256) != 64 || strings.Trim(strings.ToLower(t.SHA256), "0123456789abcdef") != "":
		return protocol.Errorf(protocol.Invalid, "the token %s needs the SHA-256 of its secret in hex", t.ID)
	case t.Calls < 0 || t.Expires < 0 || t.SpendUSD < 0:
		return protocol.Errorf(protocol.Invalid, "a limit of the token %s is negative", t.ID)
	case len(t.Rate) != 0 && (len(t.Rate) != 2 || t.Rate[0] <= 0 || t.Rate[1] <= 0):
		return protocol.Errorf(protocol.Invalid, "the rate of the token %s is not [calls, seconds], both above 0", t.ID)
	}
	for fn, params := range t.Arguments {
		for name, schema := range params {
			if err := checkSchema(schema); err != nil {
				return protocol.Errorf(protocol.Invalid, "the token %s, argument %s of %s: %v", t.ID, name, fn, err)
			}
		}
	}
	return nil
}

// schemaWords are the keywords of JSON Schema that a worker checks.
func schemaWords() []string {
	return []string{"type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
		"minLength", "maxLength", "pattern", "minItems", "maxItems", "items"}
}

func checkSchema(data json.RawMessage) error {
	var schema map[string]json.RawMessage
	if err := json.Unmarshal(data, &schema); err != nil || schema == nil {
		return protocol.Errorf(protocol.Invalid, "a schema is an object")
	}
	for word, value := range schema {
		if !slices.Contains(schemaWords(), word) {
			return protocol.Errorf(protocol.Invalid, "the schema has %q, which is not checked; what is: %s", word, strings.Join(schemaWords(), ", "))
		}
		if err := checkWord(word, value); err != nil {
			return err
		}
	}
	return nil
}

func checkWord(word string, value json.RawMessage) error {
	var number float64
	var text string
	var list []json.RawMessage
	var err error
	switch word {
	case "items":
		return checkSchema(value)
	case "enum":
		err = json.Unmarshal(value, &list)
	case "pattern":
		err = json.Unmarshal(value, &text)
	case "const", "type":
	default:
		err = json.Unmarshal(value, &number)
	}
	if err != nil {
		return protocol.Errorf(protocol.Invalid, "the schema's %s cannot be %s", word, value)
	}
	return nil
}

// Tokens returns the tokens of the service, main first.
func (v *Service) Tokens() []protocol.Token {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := append([]protocol.Token{{ID: protocol.MainToken}}, v.tokens...)
	if g := v.shown(0); g != nil {
		list[0].SHA256 = g.spec.TokenSHA256
	}
	return list
}

// limits are the tokens as a worker is told of them: without what opens anything.
func (v *Service) limits() []protocol.Token {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := []protocol.Token{{ID: protocol.MainToken}}
	for _, t := range v.tokens {
		t.SHA256 = ""
		list = append(list, t)
	}
	return list
}

// tellTokens has the workers know of a change.
func (v *Service) tellTokens() {
	line := controlLine{Kind: "tokens", Tokens: v.limits(), Price: v.manager.deps.Env.Config().Price}
	for _, w := range v.Workers() {
		if err := w.send(line, nil); err != nil && !w.Gone() {
			v.manager.deps.Log.Error("a worker was not told of its tokens", "service", v.Name, "error", err)
		}
	}
}

// tokenOf finds the token of a hash. All are looked at, so that the time tells
// nothing.
func (v *Service) tokenOf(hash string) (protocol.Token, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	found, ok := protocol.Token{}, false
	same := func(h string) bool {
		return subtle.ConstantTimeCompare([]byte(strings.ToLower(h)), []byte(hash)) == 1
	}
	for _, g := range []*generation{v.current, v.loading, v.shown(0)} {
		if g != nil && same(g.spec.TokenSHA256) {
			found, ok = protocol.Token{ID: protocol.MainToken}, true
		}
	}
	for _, t := range v.tokens {
		if same(t.SHA256) {
			found, ok = t, true
		}
	}
	return found, ok
}

// PutToken adds a token, or gives one other limits, and has the workers know.
func (v *Service) PutToken(t protocol.Token) error {
	if err := checkToken(t); err != nil {
		return err
	}
	t.Use = nil
	v.mu.Lock()
	list, err := v.tokens.with(t)
	if err == nil {
		v.tokens = list
	}
	v.mu.Unlock()
	if err != nil {
		return err
	}
	v.tellTokens()
	return nil
}

// RevokeToken removes a token, and has the workers know; false where there is none.
func (v *Service) RevokeToken(id string) bool {
	v.mu.Lock()
	rest := v.tokens.without(id)
	removed := len(rest) < len(v.tokens)
	v.tokens = rest
	v.mu.Unlock()
	if removed {
		v.tellTokens()
	}
	return removed
}

// tokenList is the tokens of a service but main. A list is never changed: a new one
// takes its place.
type tokenList []protocol.Token

// with is the list with one more token, or with other limits of one.
func (l tokenList) with(t protocol.Token) (tokenList, error) {
	i := slices.IndexFunc(l, func(o protocol.Token) bool { return o.ID == t.ID })
	switch {
	case slices.ContainsFunc(l, func(o protocol.Token) bool { return o.ID != t.ID && strings.EqualFold(o.SHA256, t.SHA256) }):
		return nil, protocol.Errorf(protocol.Conflict, "another token of the service has the same secret")
	case i >= 0:
		changed := slices.Clone(l)
		changed[i] = t
		return changed, nil
	case len(l) >= maxTokens:
		return nil, protocol.Errorf(protocol.Conflict, "the service has %d tokens; revoke some", maxTokens)
	}
	return append(slices.Clone(l), t), nil
}

// without is the list without a token.
func (l tokenList) without(id string) tokenList {
	return slices.DeleteFunc(slices.Clone(l), func(o protocol.Token) bool { return o.ID == id })
}
