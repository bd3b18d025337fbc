package egress

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/internal/spelling"
	"github.com/seer-engine/seer/sdk"
)

// Problem is one mistake in a manifest, at a place like permissions.http.0.reason.
type Problem struct{ At, Text string }

var (
	valueName    = lazyregexp.New(`^[a-z][a-z0-9_-]{0,63}$`)
	variableName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	keyName      = lazyregexp.New(`^[A-Za-z0-9_-]{1,128}$`)
	httpMethods  = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
)

// Check finds all mistakes in what a manifest says about permissions, settings,
// secrets and captures. Each has one text.
func Check(m sdk.Manifest) []Problem {
	c := &check{m: m, settings: map[string]bool{}, known: map[string]bool{}}
	c.profile()
	for i, s := range m.Settings {
		c.setting(fmt.Sprintf("settings.%d", i), s)
	}
	for i, p := range m.Permissions.HTTP {
		c.http(fmt.Sprintf("permissions.http.%d", i), p)
	}
	for i, p := range m.Permissions.GRPC {
		c.grpc(fmt.Sprintf("permissions.grpc.%d", i), p)
	}
	for i, p := range m.Permissions.SSH {
		c.ssh(fmt.Sprintf("permissions.ssh.%d", i), p)
	}
	for i, p := range m.Permissions.Kube {
		c.kube(fmt.Sprintf("permissions.kube.%d", i), p)
	}
	names := map[string]bool{}
	for i, s := range m.Secrets {
		c.secret(fmt.Sprintf("secrets.%d", i), s, names)
	}
	for i, s := range m.Captures {
		c.capture(fmt.Sprintf("captures.%d", i), s, names)
	}
	return c.problems
}

type check struct {
	m        sdk.Manifest
	problems []Problem
	settings map[string]bool // names so far
	known    map[string]bool // destinations of permissions
}

func (c *check) add(at, format string, args ...any) {
	c.problems = append(c.problems, Problem{at, fmt.Sprintf(format, args...)})
}

func (c *check) text(at, value, what string) {
	if strings.TrimSpace(value) == "" {
		c.add(at, "missing; %s", what)
	}
}

func (c *check) profile() {
	p := c.m.Profile
	if p == nil {
		return
	}
	if rest, ok := strings.CutPrefix(p.File, "~/"); !ok || rest == "" || path.Clean("/"+rest) != "/"+rest {
		c.add("profile.file", "%q is not a file below the home folder, like ~/.acme.toml", p.File)
	}
	for _, v := range []struct{ key, name string }{{"file_env", p.FileEnv}, {"name_env", p.NameEnv}} {
		if v.name != "" && !variableName().MatchString(v.name) {
			c.add("profile."+v.key, "%q is not a name of a variable", v.name)
		}
	}
	for i, f := range p.Folders {
		at := fmt.Sprintf("profile.folders.%d", i)
		if !variableName().MatchString(f.Env) {
			c.add(at+".env", "%q is not a name of a variable", f.Env)
		}
		if !fs.ValidPath(f.File) || f.File == "." {
			c.add(at+".file", "%q is not the path of a file inside a folder", f.File)
		}
	}
	for _, v := range []struct{ key, name string }{{"key", p.Key}, {"active", p.Active}, {"section", p.Section}} {
		if v.name != "" && !keyName().MatchString(v.name) {
			c.add("profile."+v.key, "%q is not a plain TOML key", v.name)
		}
	}
	if p.Key != "" && p.NameEnv+p.Active+p.Section != "" {
		c.add("profile.key", "the file is one plain text; leave out name_env, active and section")
	}
}

// sources checks where a value of the user's comes from.
func (c *check) sources(at string, env []string, key string) {
	for i, name := range env {
		if !variableName().MatchString(name) {
			c.add(fmt.Sprintf("%s.env.%d", at, i), "%q is not a name of a variable", name)
		}
	}
	if key != "" && !keyName().MatchString(key) {
		c.add(at+".profile", "%q is not a plain TOML key", key)
	}
	if key != "" && c.m.Profile == nil {
		c.add(at+".profile", "the manifest names no profile: file in which %q could be", key)
	}
}

func (c *check) setting(at string, s sdk.Setting) {
	if !valueName().MatchString(s.Name) {
		c.add(at+".name", "%q is not of the form: small letters, digits, _ and -", s.Name)
	}
	if c.settings[s.Name] {
		c.add(at+".name", "the setting %q is there twice", s.Name)
	}
	c.settings[s.Name] = true
	c.text(at+".doc", s.Doc, "say what it is for")
	c.sources(at, s.Env, s.Profile)
	if len(s.Env) == 0 && s.Profile == "" && s.Default == "" {
		c.add(at, "has neither env, profile nor default, so that it can have no value")
	}
	for _, name := range append(slices.Clone(s.Env), s.Profile) {
		if CredentialName(name) || c.isSecretVariable(name) {
			c.add(at, "%s looks like a credential, which a plugin must not read; name it under secrets", name)
		}
	}
}

func (c *check) isSecretVariable(name string) bool {
	return name != "" && slices.ContainsFunc(c.m.Secrets, func(s sdk.Secret) bool {
		return slices.Contains(s.Env, name) || s.Profile == name
	})
}

// destination checks one that a permission names, and remembers it.
func (c *check) destination(at, text string) {
	c.known[text] = true
	if isModel(c.m, text) {
		if !slices.ContainsFunc(c.m.Implements, func(s string) bool { return strings.HasPrefix(s, string(sdk.KindFetcher)+"/") }) {
			c.add(at, "only a fetcher is asked for models, so that only its manifest can have %s", text)
		}
		return
	}
	name, isSetting := settingName(text)
	if text == "" {
		c.add(at, "missing; it is an origin like https://api.example.com, or {setting}")
		return
	}
	if isSetting {
		c.settingDestination(at, name)
		return
	}
	o, err := parseOrigin(text)
	switch {
	case err != nil:
		c.add(at, "%v", err)
	case !plainWord(text):
		c.add(at, "%q is not in plain ASCII", text)
	case o.scheme != "https":
		c.add(at, "%q is not encrypted; only a user can configure that, with a setting", text)
	}
}

func (c *check) settingDestination(at, name string) {
	i := slices.IndexFunc(c.m.Settings, func(s sdk.Setting) bool { return s.Name == name })
	if i < 0 {
		c.add(at, "there is no setting %q", name)
		return
	}
	if d := c.m.Settings[i].Default; d != "" {
		if o, err := parseOrigin(d); err != nil || o.scheme != "https" || !plainWord(d) {
			c.add(fmt.Sprintf("settings.%d.default", i), "%q is a destination and must be https://host[:port]", d)
		}
	}
}

func (c *check) http(at string, p sdk.HTTPPermission) {
	c.destination(at+".destination", p.Destination)
	c.text(at+".reason", p.Reason, "tell the user why the plugin needs it")
	if len(p.Methods) == 0 {
		c.add(at+".methods", "missing; list those needed, like [GET]")
	}
	for i, m := range p.Methods {
		if !slices.Contains(httpMethods, m) {
			c.add(fmt.Sprintf("%s.methods.%d", at, i), "%q is none of %s", m, strings.Join(httpMethods, ", "))
		}
	}
	if len(p.Paths) == 0 {
		c.add(at+".paths", "missing; list patterns, like [/v2/**]")
	}
	for i, pattern := range p.Paths {
		if err := checkPathPattern(pattern); err != nil {
			c.add(fmt.Sprintf("%s.paths.%d", at, i), "%v", err)
		}
	}
}

func (c *check) grpc(at string, p sdk.GRPCPermission) {
	c.destination(at+".destination", p.Destination)
	c.text(at+".reason", p.Reason, "tell the user why the plugin needs it")
	c.methods(at+".methods", p.Methods)
}

func (c *check) ssh(at string, p sdk.SSHPermission) {
	c.text(at+".reason", p.Reason, "tell the user why the plugin needs it")
	if len(p.Hosts) == 0 {
		c.add(at+".hosts", "missing; list patterns, like [\"lab-*.example.org\"], or {setting}")
	}
	c.patterns(at+".hosts", p.Hosts, "hosts in plain ASCII, like lab-*.example.org", "/{}")
	if len(p.Use) == 0 {
		c.add(at+".use", "missing; list what is needed of %s and %s", sdk.SSHExec, sdk.SSHForward)
	}
	for i, use := range p.Use {
		if use != sdk.SSHExec && use != sdk.SSHForward {
			c.add(fmt.Sprintf("%s.use.%d", at, i), "%q is neither %s nor %s", use, sdk.SSHExec, sdk.SSHForward)
		}
	}
}

// patterns checks patterns of names, which do not have the characters of not.
func (c *check) patterns(at string, patterns []string, what, not string) {
	for i, pattern := range patterns {
		at := fmt.Sprintf("%s.%d", at, i)
		if name, isSetting := settingName(pattern); isSetting {
			if !c.settings[name] {
				c.add(at, "there is no setting %q", name)
			}
			continue
		}
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" || !plainWord(pattern) || strings.ContainsAny(pattern, not) {
			c.add(at, "%q is not a pattern of names of %s", pattern, what)
		}
	}
}

var kubeUses = []string{sdk.KubeRead, sdk.KubeWrite, sdk.KubeExecute, sdk.KubeForward, sdk.KubeCluster}

func (c *check) kube(at string, p sdk.KubePermission) {
	c.text(at+".reason", p.Reason, "tell the user why the plugin needs it")
	if len(p.Contexts) == 0 {
		c.add(at+".contexts", "missing; list patterns, like [\"*\"], or {setting}")
	}
	c.patterns(at+".contexts", p.Contexts, "contexts in plain ASCII, like lab-*", "{}")
	c.patterns(at+".namespaces", p.Namespaces, "namespaces in small letters, digits and hyphens, like team-*", "ABCDEFGHIJKLMNOPQRSTUVWXYZ/{}.:@_")
	cluster := slices.Contains(p.Use, sdk.KubeCluster)
	switch {
	case len(p.Use) == 0:
		c.add(at+".use", "missing; list what is needed of %s", strings.Join(kubeUses, ", "))
	case cluster && len(p.Use) > 1:
		c.add(at+".use", "%s is for what belongs to no namespace; give it a permission of its own", sdk.KubeCluster)
	case cluster && len(p.Namespaces) > 0:
		c.add(at+".namespaces", "%s is for what belongs to no namespace; leave them out", sdk.KubeCluster)
	case !cluster && len(p.Namespaces) == 0:
		c.add(at+".namespaces", "missing; list patterns, like [\"*\"], or {setting}")
	}
	for i, use := range p.Use {
		if slices.Contains(kubeUses, use) {
			continue
		}
		hint := ""
		if near := spelling.Nearest(use, kubeUses); near != "" {
			hint = "; did you mean " + near + "?"
		}
		c.add(fmt.Sprintf("%s.use.%d", at, i), "%q is none of %s%s", use, strings.Join(kubeUses, ", "), hint)
	}
}

func (c *check) methods(at string, methods []string) {
	if len(methods) == 0 {
		c.add(at, "missing; list those needed, like [/acme.Cloud/ListMachines]")
	}
	for i, m := range methods {
		if err := checkMethodPattern(m); err != nil {
			c.add(fmt.Sprintf("%s.%d", at, i), "%v", err)
		}
	}
}

func (c *check) name(at, name string, taken map[string]bool) {
	switch {
	case !valueName().MatchString(name):
		c.add(at, "%q is not of the form: small letters, digits, _ and -", name)
	case taken[name]:
		c.add(at, "%q names two credentials", name)
	}
	taken[name] = true
}

func (c *check) secret(at string, s sdk.Secret, taken map[string]bool) {
	c.name(at+".name", s.Name, taken)
	c.text(at+".doc", s.Doc, "tell the user how to get one")
	c.sources(at, s.Env, s.Profile)
	if len(s.Env) == 0 && s.Profile == "" {
		c.add(at, "has neither env nor profile, so that it can have no value")
	}
	if len(s.Bind) == 0 {
		c.add(at+".bind", "missing; say where it goes: destination and header")
	}
	for i, b := range s.Bind {
		c.binding(fmt.Sprintf("%s.bind.%d", at, i), b)
	}
}

func (c *check) binding(at string, b sdk.Binding) {
	switch {
	case b.Destination == "":
		c.add(at+".destination", "missing; it is one that a permission names")
	case isModel(c.m, b.Destination):
		c.add(at+".destination", "the author of an experiment names that host; bind a credential to an origin or a setting")
	case !c.known[b.Destination]:
		c.add(at+".destination", "no permission names %q", b.Destination)
	}
	c.header(at, b)
}

func (c *check) header(at string, b sdk.Binding) {
	name := strings.ToLower(b.Header)
	switch {
	case b.Header == "":
		c.add(at+".header", "missing; name the header or metadata key")
	case forbiddenHeader(name) || strings.HasSuffix(name, "-bin"):
		c.add(at+".header", "%q is not a header that can hold a credential", b.Header)
	}
	if b.Format != "" && (strings.Count(b.Format, "{}") != 1 || !httpguts.ValidHeaderFieldValue(b.Format)) {
		c.add(at+".format", "%q does not have {} once, like \"Bearer {}\"", b.Format)
	}
}

func (c *check) capture(at string, s sdk.Capture, taken map[string]bool) {
	c.name(at+".name", s.Name, taken)
	if !grpcMethod().MatchString(s.Method) {
		c.add(at+".method", "%q is not of the form /package.Service/Method", s.Method)
	} else if !slices.ContainsFunc(c.m.Permissions.GRPC, func(p sdk.GRPCPermission) bool { return matchMethod(p.Methods, s.Method) }) {
		c.add(at+".method", "no permission allows %s", s.Method)
	}
	if _, err := parseFieldPath(s.Field); err != nil {
		c.add(at+".field", "%v", err)
	}
	if len(s.Bind) == 0 {
		c.add(at+".bind", "missing; say where it goes")
	}
	if s.URLField == "" {
		if len(s.GRPC) > 0 {
			c.add(at+".grpc", "is for the URL of a url_field, which is missing")
		}
		for i, b := range s.Bind {
			place := fmt.Sprintf("%s.bind.%d", at, i)
			c.binding(place, b)
			c.unclaimed(place, b)
		}
		return
	}
	c.captureURL(at, s)
}

// unclaimed makes sure that no secret of the user's goes to the same place.
func (c *check) unclaimed(at string, b sdk.Binding) {
	for _, s := range c.m.Secrets {
		if slices.ContainsFunc(s.Bind, func(have sdk.Binding) bool {
			return have.Destination == b.Destination && strings.EqualFold(have.Header, b.Header)
		}) {
			c.add(at+".header", "%q holds the secret %s already", b.Header, s.Name)
		}
	}
}

func (c *check) captureURL(at string, s sdk.Capture) {
	if _, err := parseFieldPath(s.URLField); err != nil {
		c.add(at+".url_field", "%v", err)
	} else if s.URLField == s.Field {
		c.add(at+".url_field", "is the field of the credential")
	}
	c.methods(at+".grpc", s.GRPC)
	for i, b := range s.Bind {
		place := fmt.Sprintf("%s.bind.%d", at, i)
		if b.Destination != "" {
			c.add(place+".destination", "leave it empty: the credential goes to the URL of url_field")
		}
		c.header(place, b)
	}
}
