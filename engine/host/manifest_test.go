package host

import (
	"strings"
	"testing"
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

func FuzzManifest(f *testing.F) {
	f.Add("id: expose-shout\nversion: 0.1.0\nimplements: [expose/1]\nprovides: [shout]\n")
	f.Add("id: &a [*a]\n")
	f.Add("id: x\nid: y\nlimits: {call_seconds: .nan}\n")
	f.Add("[]")
	f.Add(cloudManifest)
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
		if !idPattern.MatchString(m.ID) || len(m.Implements) == 0 || len(m.Provides) == 0 {
			t.Errorf("accepted %+v", m)
		}
		if l := limits.asked(m.Limits); l.MemoryMB > limits.MaxMemoryMB || l.CallTime > limits.CallTime || l.MemoryMB <= 0 || l.CallTime < 0 {
			t.Errorf("limits %+v", l)
		}
	})
}
