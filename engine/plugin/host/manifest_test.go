package host

import (
	"reflect"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/host/access"
)

const cloudManifest = `id: provider-cloud
version: 0.1.0
implements: [provider/1]
provides: [cloud]
permissions:
  grpc:
    - destination: "{server_url}"
      methods: [/acme.Cloud/*]
      reason: to rent machines
profile:
  file: ~/.cloud.toml
  active: active
settings:
  - name: server_url
    doc: the API
    env: [CLOUD_URL]
    profile: server_url
    default: https://api.example.com
secrets:
  - name: token
    doc: make one in the console
    env: [CLOUD_TOKEN]
    bind:
      - {destination: "{server_url}", header: x-token}
captures:
  - name: session
    method: /acme.Cloud/Login
    field: "1"
    jwt: true
    bind:
      - {destination: "{server_url}", header: x-session}
limits:
  memory_mb: 1024
`

// Each mistake is one line that begins with the place in the file.
func TestManifestOfWhatLeaves(t *testing.T) {
	limits := Limits{}.withDefaults()
	m, err := parseManifest("p.yaml", []byte(cloudManifest), limits)
	if err != nil || limits.asked(m.Limits).MemoryMB != 1024 {
		t.Fatalf("%+v, %v", m, err)
	}
	for _, tc := range []struct{ from, to, want string }{
		{"reason: to rent machines", "reason: ''", "p.yaml:9: permissions.grpc.0.reason: missing; tell the user why the plugin needs it"},
		{"doc: make one in the console", "doc:", "p.yaml:21: secrets.0.doc: missing; tell the user how to get one"},
		{"header: x-token", "header: Host", `p.yaml:24: secrets.0.bind.0.header: "Host" is not a header that can hold a credential`},
		{"file: ~/.cloud.toml", "file: /etc/x", `p.yaml:11: profile.file: "/etc/x" is not a file below the home folder, like ~/.acme.toml`},
		{`field: "1"`, "field: x", `p.yaml:28: captures.0.field: "x" is not a list of protobuf field numbers, like 1 or 3.1`},
		{"memory_mb: 1024", "memory_mb: 1025", "p.yaml:33: memory_mb: 1025 is not between 0 and this host's limit of 1024"},
		{"reason: to", "raison: to", "p.yaml:9: field raison is not a key of a grpc permission"},
		{"env: [CLOUD_TOKEN]", "variable: x", "p.yaml:22: field variable is not a key of a secret"},
		{"jwt: true", "jot: true", "p.yaml:29: field jot is not a key of a capture"},
	} {
		_, err := parseManifest("p.yaml", []byte(strings.Replace(cloudManifest, tc.from, tc.to, 1)), limits)
		if err == nil || err.Error() != tc.want {
			t.Errorf("%s: %v\nwant %s", tc.to, err, tc.want)
		}
	}
}

// All mistakes at once, in the words of the file.
func TestManifestMistakes(t *testing.T) {
	limits := Limits{}.withDefaults()
	for _, tc := range []struct {
		name, from, to string
		want           []string
	}{
		{"a word for a list", "methods: [/acme.Cloud/*]", "methods: GET", []string{"p.yaml:8: permissions.grpc.0.methods: must be a list, like [GET]"}},
		{"two kinds of mistakes", "version: 0.1.0\nimplements: [provider/1]", "version: one\nimplements: provider/1",
			[]string{"p.yaml:3: implements: must be a list, like [provider/1]", `p.yaml:2: version: "one" is not of the form: three numbers, like 1.0.2`}},
		{"a typo and no reason", "doc: the API\n    env", "doc: the API\n    environment", []string{"p.yaml:16: field environment is not a key of a setting"}},
		{"a typo here and no reason there", "reason: to rent machines\nprofile:\n  file:", "reason: ''\nprofile:\n  files:",
			[]string{"p.yaml:11: field files is not a key of profile", "p.yaml:9: permissions.grpc.0.reason: missing; tell the user why the plugin needs it"}},
		{"a word for a list, and nothing at all", "implements: [provider/1]\nprovides: [cloud]", "implements: provider/1",
			[]string{"p.yaml:3: implements: must be a list, like [provider/1]", "p.yaml:1: provides: missing; list the values of `provider:`, the model sources or the `expose_as:` values"}},
		{"a text for a number", "memory_mb: 1024", "memory_mb: lots", []string{"p.yaml:33: limits.memory_mb: must be a whole number"}},
		{"a list for a text", "id: provider-cloud", "id: [provider-cloud]", []string{"p.yaml:1: id: must be a text"}},
		{"a mapping for a list", "provides: [cloud]", "provides: {a: b}", []string{"p.yaml:4: provides: must be a list of texts"}},
		{"a text for a mapping", "limits:\n  memory_mb: 1024", "limits: high", []string{"p.yaml:32: limits: must be a mapping, `key: value` on lines of its own"}},
		{"a text for a choice", "jwt: true", "jwt: perhaps", []string{"p.yaml:29: captures.0.jwt: must be true or false"}},
		{"twice", "version: 0.1.0", "version: 0.1.0\nid: other", []string{`p.yaml:3: mapping key "id" already defined at line 1`}},
	} {
		text := strings.Replace(cloudManifest, tc.from, tc.to, 1)
		_, err := parseManifest("p.yaml", []byte(text), limits)
		if text == cloudManifest || err == nil || err.Error() != strings.Join(tc.want, "\n") {
			t.Errorf("%s: %v\nwant %s", tc.name, err, strings.Join(tc.want, "\n"))
		}
	}
}

func FuzzManifest(f *testing.F) {
	f.Add("id: expose-shout\nversion: 0.1.0\nimplements: [expose/1]\nprovides: [shout]\n")
	f.Add("id: &a [*a]\n")
	f.Add("id: x\nid: y\nlimits: {call_seconds: .nan}\n")
	f.Add("id: provider-x\nversion: 0.1.0\nimplements: [provider/1]\nprovides: [x]\nlimits: {step_seconds: 901}\n")
	f.Add("[]")
	f.Add(cloudManifest)
	f.Add(exposeManifest)
	f.Add("id: x\npermissions: {http: [&a {destination: '{b}'}, *a]}\nsettings: [{name: b}]\n")
	limits := Limits{}.withDefaults()
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parseManifest("p.yaml", []byte(text), limits)
		if err != nil {
			for _, line := range strings.Split(err.Error(), "\n") {
				if !strings.HasPrefix(line, "p.yaml:") {
					t.Errorf("%q has no place", line)
				}
			}
			return
		}
		if !idPattern().MatchString(m.ID) || len(m.Implements) == 0 || len(m.Provides) == 0 {
			t.Errorf("accepted %+v", m)
		}
		if l := limits.asked(m.Limits); l.MemoryMB > limits.MaxMemoryMB || l.CallTime > limits.CallTime || l.StepTime > limits.StepTime || l.MemoryMB <= 0 || l.CallTime < 0 {
			t.Errorf("limits %+v", l)
		}
		lines := access.Of(m)
		for _, line := range lines {
			if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' || r == '"' }) && !strings.Contains(line, `\"`) {
				t.Errorf("the permission %q is not plain", line)
			}
		}
		if left := access.Limit(m, lines); !reflect.DeepEqual(access.Lines(left), access.Lines(m)) {
			t.Errorf("all granted: %q of %q", access.Of(left), lines)
		}
		for _, l := range access.Lines(m) {
			if oneLine(l.Plain+l.Reason) != l.Plain+l.Reason {
				t.Errorf("the words of %q: %q, %q", l.Text, l.Plain, l.Reason)
			}
		}
	})
}

const exposeManifest = `id: expose-shout
version: 0.1.0
description: Function names in capitals
implements: [expose/1]
provides: [shout]
permissions:
  commands:
    - {command: node, reason: to run what it wrote}
  env:
    - {names: [NODE_PATH], reason: to find it}
  files:
    - {paths: [".claude/skills/**", "a/.b"], reason: to be found}
`

func TestManifestOfSurfaces(t *testing.T) {
	limits := Limits{}.withDefaults()
	if m, err := parseManifest("p.yaml", []byte(exposeManifest), limits); err != nil || len(access.Of(m)) != 4 {
		t.Fatalf("%q, %v", access.Of(m), err)
	}
	for _, tc := range []struct{ from, to, want string }{
		{"command: node", `command: "node -e 1"`, `p.yaml:8: permissions.commands.0.command: "node -e 1" is not the name or path of a program, without spaces and arguments; seer itself needs no permission`},
		{"command: node", `command: "{{seer.command}}"`, `p.yaml:8: permissions.commands.0.command: "{{seer.command}}" is not`},
		{", reason: to run what it wrote", "", "p.yaml:8: permissions.commands.0.reason: missing; tell the user why"},
		{"[NODE_PATH]", "[SEER_X]", `p.yaml:10: permissions.env.0.names.0: "SEER_X" is not a name of a variable that needs a permission`},
		{"[NODE_PATH]", `["A B"]`, `p.yaml:10: permissions.env.0.names.0: "A B" is not`},
		{"[NODE_PATH]", "[]", "p.yaml:10: permissions.env.0.names: missing; list variables"},
		{"a/.b", "/.b", `p.yaml:12: permissions.files.0.paths.1: "/.b" is not a pattern of a plain relative path`},
		{"a/.b", "a/../.b", `is not a pattern of a plain relative path`},
		{"a/.b", "**", `"**" has ** elsewhere than as the last part`},
		{"a/.b", ".b/[", `".b/[" is not a pattern`},
		{"a/.b", ".b c", `in plain ASCII, without spaces`},
		{"a/.b", ".é", `in plain ASCII, without spaces`},
		{"implements: [expose/1]", "implements: [fetcher/1]", "p.yaml:6: permissions: commands, env and files are for expose modes"},
		{"Function names in capitals", `"\e[2Jsafe"`, "p.yaml:3: description: holds control characters"},
		{"to find it", `"to \u202e find"`, "permissions.env.0.reason: holds control characters or marks of direction"},
		{"names: [", "name: [", "p.yaml:10: field name is not a key of an env permission"},
	} {
		_, err := parseManifest("p.yaml", []byte(strings.Replace(exposeManifest, tc.from, tc.to, 1)), limits)
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%s: %v\nwant %s", tc.to, err, tc.want)
		}
	}
}
