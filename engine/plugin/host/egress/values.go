package egress

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/seer-engine/seer/sdk"
)

// SecretStatus says whether a credential is there, and never what it is.
type SecretStatus struct {
	Name     string   `json:"name"`
	Doc      string   `json:"doc"`           // how to get one
	Env      []string `json:"env,omitempty"` // the variables that may hold it
	Where    string   `json:"where,omitempty"`
	Found    bool     `json:"found"`
	Optional bool     `json:"optional,omitempty"`
	Problem  string   `json:"problem,omitempty"` // why one that was found, or its file, cannot be used

	// Mark is another one for another credential, and says nothing else of it.
	Mark string `json:"-"`
}

func markOf(secret string) string {
	if secret == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("seer mark of a credential\x00" + secret))
	return hex.EncodeToString(sum[:8])
}

// shortestSecret is what can be taken out of an answer without taking it apart.
const shortestSecret = 4

// value is a setting or secret of the user's.
type value struct {
	text, where string
	users       bool   // the user has set it, and to something else than the default
	problem     string // it cannot be used
}

// values are what the user has set, read once.
type values struct {
	settings map[string]value
	secrets  map[string]value
	err      error // of the profile
}

func (o Options) env(name string) (text, where string) { return lookup(o.Env, name) }

func lookup(in func(string) (string, string, bool), name string) (text, where string) {
	if in == nil || name == "" {
		return "", ""
	}
	text, where, ok := in(name)
	if !ok || text == "" {
		return "", ""
	}
	if where == "" {
		where = "environment"
	}
	return text, where
}

func (o Options) read() values {
	v := values{settings: map[string]value{}, secrets: map[string]value{}}
	var profile section
	profile, v.err = o.profile()
	for _, s := range o.Manifest.Settings {
		text, where := o.find(s.Env, s.Profile, profile)
		if text == "" {
			v.settings[s.Name] = value{text: s.Default}
			continue
		}
		v.settings[s.Name] = value{text: text, where: where, users: !sameValue(text, s.Default)}
	}
	for _, s := range o.Manifest.Secrets {
		text, where := o.find(s.Env, s.Profile, profile)
		v.secrets[s.Name] = secret(s.Name, text, where)
	}
	if v.err == nil && !v.account() || o.projectFirst {
		for _, s := range o.Manifest.Secrets {
			text, where := variable(o.SecretEnv, s.Env)
			v.secrets[s.Name] = secret(s.Name, text, where)
		}
	}
	return v
}

// account reports whether the user has an account with the plugin's backend. None of its
// credentials then comes from a project's file: it would replace the account, or a part of
// it, and receive models and files.
func (v values) account() bool {
	for _, s := range v.secrets {
		if s.text != "" {
			return true
		}
	}
	return false
}

func secret(name, text, where string) value {
	text = strings.TrimSpace(text)
	return value{text: text, where: where, users: true, problem: unusable(name, text, where)}
}

// sameValue reports whether two texts are the same, or the same origin.
func sameValue(a, b string) bool {
	first, err := parseOrigin(a)
	second, err2 := parseOrigin(b)
	return a == b || err == nil && err2 == nil && first == second
}

// find takes a variable, else the profile.
func (o Options) find(env []string, key string, profile section) (text, where string) {
	if text, where = variable(o.Env, env); text != "" {
		return text, where
	}
	return profile.get(key)
}

// variable is the first of several variables that has a value.
func variable(in func(string) (string, string, bool), names []string) (text, where string) {
	for _, name := range names {
		if text, where = lookup(in, name); text != "" {
			return text, name + " of " + where
		}
	}
	return "", ""
}

func unusable(name, text, where string) string {
	switch {
	case text == "":
		return ""
	case len(text) < shortestSecret:
		return fmt.Sprintf("the secret %s (%s) has fewer than %d characters, which no credential has; correct it", name, where, shortestSecret)
	case !httpguts.ValidHeaderFieldValue(text):
		return fmt.Sprintf("the secret %s (%s) holds line breaks or control characters; copy it again", name, where)
	}
	return ""
}

// Settings are the values of the manifest's settings, as the plugin sees them.
func (g *Gateway) Settings() (map[string]string, error) {
	v := g.o.read()
	return v.texts(), v.err
}

func (v values) texts() map[string]string {
	out := make(map[string]string, len(v.settings))
	for name, s := range v.settings {
		out[name] = s.text
	}
	return out
}

// Secrets tells which of the manifest's secrets are there.
func (g *Gateway) Secrets() []SecretStatus {
	v := g.o.read()
	out := []SecretStatus{}
	for _, s := range g.o.Manifest.Secrets {
		have := v.secrets[s.Name]
		st := SecretStatus{Name: s.Name, Doc: s.Doc, Env: s.Env, Where: have.where, Optional: s.Optional, Problem: have.problem, Mark: markOf(have.text)}
		if v.err != nil && have.text == "" {
			st.Problem = v.err.Error()
		}
		st.Found = have.text != "" && st.Problem == ""
		out = append(out, st)
	}
	return out
}

// missing is the error for a credential that a request needs.
func (o Options) missing(s sdk.Secret) error {
	var ways []string
	if len(s.Env) > 0 {
		ways = append(ways, "set "+strings.Join(s.Env, " or "))
	}
	if p := o.Manifest.Profile; p != nil && s.Profile != "" {
		ways = append(ways, "put "+s.Profile+" into "+p.File)
	}
	return sdk.Errorf(sdk.Unauthorized, "the credential %s of plugin %s is missing; %s. %s", s.Name, o.Manifest.ID, strings.Join(ways, ", or "), s.Doc)
}
