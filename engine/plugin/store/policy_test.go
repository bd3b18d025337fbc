package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/internal/testplugin"
)

func TestPolicyIsRead(t *testing.T) {
	for text, want := range map[string]Policy{
		"":               DefaultPolicy(),
		"# nothing\n":    DefaultPolicy(),
		"plugins:\n":     {File: "config.yaml", Signatures: SignaturesWarn, MaxMemoryMB: 1024},
		"---\nplugins: ": {File: "config.yaml", Signatures: SignaturesWarn, MaxMemoryMB: 1024},
		"plugins:\n  signatures: require\n  signers: [" + fingerprintA + "]\n  destinations:\n    - https://api.tiny.example\n    - '*.acme.example'\n  max_memory_mb: 512\n  registries: [registry.example, 'localhost:5000']\n": {
			File: "config.yaml", Signatures: SignaturesRequire, Signers: []string{fingerprintA}, Destinations: []string{"https://api.tiny.example", "*.acme.example"},
			MaxMemoryMB: 512, Registries: []string{"registry.example", "localhost:5000"}},
		"plugins: {signatures: off}": {File: "config.yaml", Signatures: SignaturesOff, MaxMemoryMB: 1024},
	} {
		got, err := parsePolicy("config.yaml", []byte(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestPolicyMistakesHaveAPlace(t *testing.T) {
	for text, want := range map[string]string{
		"plugin:\n  signatures: off":                        "config.yaml:1: configuration: unknown key \"plugin\"",
		"\nplugins:\n  signature: off":                      "config.yaml:3: plugins: unknown key \"signature\"; did you mean \"signatures\"?",
		"plugins:\n  signatures: never":                     "config.yaml:2: plugins.signatures: \"never\" is not one of off, warn, require",
		"plugins:\n  signatures: [off]":                     "config.yaml:2: plugins.signatures: not a plain value",
		"plugins:\n  signers: x":                            "config.yaml:2: plugins.signers: not a list; write [x]",
		"plugins:\n  signers:\n    - SHA256:short":          "config.yaml:3: plugins.signers: \"SHA256:short\" is not the fingerprint",
		"plugins:\n  destinations: [api.tiny.example]":      "config.yaml:2: plugins.destinations: \"api.tiny.example\" is neither",
		"plugins:\n  destinations: [https://a.example/x]":   "neither an origin",
		"plugins:\n  destinations: ['https://*.example']":   "neither an origin",
		"plugins:\n  destinations: ['https://u@a.example']": "neither an origin",
		"plugins:\n  destinations: ['*']":                   "neither an origin",
		"plugins:\n  destinations: ['']":                    "config.yaml:2: plugins.destinations: an empty value",
		"plugins:\n  max_memory_mb: 0":                      "config.yaml:2: plugins.max_memory_mb: \"0\" is not a whole number",
		"plugins:\n  max_memory_mb: 255":                    "from 256",
		"plugins:\n  max_memory_mb: 1025":                   "to 1024",
		"plugins:\n  max_memory_mb: 1e3":                    "not a whole number",
		"plugins:\n  registries: [https://registry.io]":     "config.yaml:2: plugins.registries: \"https://registry.io\" is not a host",
		"plugins: 3":                             "config.yaml:1: plugins: not a mapping",
		"- a":                                    "config.yaml:1: not a mapping",
		"plugins:\n  signers: []\n  signers: []": "config.yaml:3: plugins: the key \"signers\" is here twice",
		"plugins: {}\n---\nplugins: {}":          "config.yaml:2: there is a second YAML document",
		"plugins:\n\t- x":                        "config.yaml:2: not valid YAML",
		"plugins: &a {signers: *a}":              "config.yaml:1: ",
		strings.Repeat("#", 2<<20):               "longer than 1024 KiB",
	} {
		p, err := parsePolicy("config.yaml", []byte(text))
		testkit.WantError(t, err, want)
		if !reflect.DeepEqual(p, Policy{}) {
			t.Errorf("%.40q gives %+v beside the error", text, p)
		}
	}
}

func TestPolicyLimits(t *testing.T) {
	p := DefaultPolicy()
	p.Destinations, p.MaxMemoryMB = []string{"https://api.tiny.example", "*.acme.example"}, 512
	for line, want := range map[string]bool{
		"http GET https://api.tiny.example /m":                   true,
		"http GET https://API.tiny.example:443 /m":               true,
		"http GET https://api.tiny.example:8443 /m":              false,
		"http GET https://sub.api.tiny.example /m":               false,
		"http GET https://a.acme.example /m":                     true,
		"http GET https://a.b.acme.example /m":                   true,
		"http GET https://acme.example /m":                       false,
		"http GET https://badacme.example /m":                    false,
		"grpc https://evil.example /a.B/C":                       false,
		"secret key KEY Authorization https://evil.example":      false,
		"secret key KEY Authorization https://x.acme.example":    true,
		"capture tok /a.B/C 1 x-token https://evil.example":      false,
		"capture tok /a.B/C 1 calls url:2 /a.B/D":                true,
		"http GET {url}=https://evil.example /m":                 true, // checked where it is used
		"setting url URL":                                        true,
		"kube context lab namespace agents read":                 false,
		"ssh lab exec":                                           true, // checked where it is used
		"memory 512":                                             true,
		"memory 513":                                             false,
		"command node":                                           true,
		"file .config/https://x":                                 true,
		"http GET https://api.tiny.example /https://evil.exampl": true,
	} {
		allowed, refused := p.Limit(access.Make(line), false)
		if (len(allowed) == 1) != want || len(allowed)+len(refused) != 1 {
			t.Errorf("%s: allowed %v", line, allowed)
		}
	}
	if allowed, refused := p.Limit(access.Make("grpc https://evil.example /a.B/C", "memory 2048"), true); len(allowed) != 1 || len(refused) != 1 {
		t.Errorf("built in: %v, %v", allowed, refused)
	}
}

func TestPolicyBindsGrants(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	in := w.put(testplugin.Tiny(t, "1.0.0", "/m"))
	w.grant(in)
	p := inspect(t, in.File())
	w.write(w.config, "plugins:\n  destinations: ['*.other.example']\n", 0o600)
	g, err := w.Decide(ctx, p)
	if err != nil || len(g.Lines) != 0 || !slices.Equal(g.Destinations, []string{"*.other.example"}) {
		t.Errorf("%+v, %v", g, err)
	}
	w.write(w.config, "plugins:\n  destination: []\n", 0o600)
	_, err = w.Decide(ctx, p)
	testkit.WantError(t, err, w.config+":2")
	os.Remove(w.config)
	if g, err := w.Decide(ctx, p); err != nil || len(g.Lines) != 1 {
		t.Errorf("%+v, %v", g, err)
	}
}

func TestPolicyOnSigners(t *testing.T) {
	p := Policy{File: "config.yaml", Signatures: SignaturesRequire}
	_, err := p.AllowsSigner("provider-tiny", "")
	testkit.WantError(t, err, "not signed", "config.yaml")
	if _, err := p.AllowsSigner("provider-tiny", fingerprintA); err != nil {
		t.Error(err)
	}
	p.Signers = []string{fingerprintB}
	_, err = p.AllowsSigner("provider-tiny", fingerprintA)
	testkit.WantError(t, err, fingerprintA, "plugins.signers")
	p.Signatures = SignaturesWarn
	for _, signer := range []string{"", fingerprintA} {
		if warning, err := p.AllowsSigner("provider-tiny", signer); err != nil || warning == "" {
			t.Errorf("%q: %q, %v", signer, warning, err)
		}
	}
	p.Signatures = SignaturesOff
	if warning, err := p.AllowsSigner("provider-tiny", ""); err != nil || warning != "" {
		t.Errorf("%q, %v", warning, err)
	}
	p.Registries = []string{"registry.example"}
	testkit.WantError(t, p.AllowsHost("evil.example"), "evil.example", "registry.example")
	if err := p.AllowsHost("Registry.example"); err != nil {
		t.Error(err)
	}
}

func FuzzPolicy(f *testing.F) {
	f.Add([]byte("plugins:\n  destinations: ['*.a.example']\n  max_memory_mb: 3\n"))
	f.Add([]byte("plugins: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parsePolicy("config.yaml", data)
		if err != nil {
			for _, line := range strings.Split(err.Error(), "\nconfig") {
				if !strings.Contains(line, "yaml:") {
					t.Fatalf("no place: %v", err)
				}
			}
			return
		}
		if p.MaxMemoryMB < leastMemoryMB || p.MaxMemoryMB > mostMemoryMB || !slices.Contains([]Signatures{SignaturesOff, SignaturesWarn, SignaturesRequire}, p.Signatures) {
			t.Fatalf("%+v", p)
		}
		for _, d := range p.Destinations {
			if d == "" || d == "*" {
				t.Fatalf("%q lifts the limit", d)
			}
		}
	})
}

// What an administrator limits, no user widens.
func TestPolicyWithinTheAdministrators(t *testing.T) {
	any := DefaultPolicy()
	admin := Policy{File: "/etc/seer/policy.yaml", Signatures: SignaturesRequire, Signers: []string{fingerprintA}, MaxMemoryMB: 512,
		Destinations: []string{"*.acme.example", "https://api.tiny.example"}, Registries: []string{"registry.example"}}
	for name, tc := range map[string]struct{ user, admin, want Policy }{
		"no administrator":  {any, Policy{Signatures: SignaturesOff, MaxMemoryMB: mostMemoryMB}, any},
		"nothing of a user": {any, admin, admin},
		"a user who wants less": {
			Policy{Signatures: SignaturesOff, Signers: []string{fingerprintA}, MaxMemoryMB: 256, Destinations: []string{"https://a.acme.example", "*.b.acme.example", "https://else.example"}},
			admin,
			Policy{File: admin.File, Signatures: SignaturesRequire, Signers: []string{fingerprintA}, MaxMemoryMB: 256,
				Destinations: []string{"https://a.acme.example", "*.b.acme.example"}, Registries: admin.Registries}},
		"a user who wants what is wider": {
			Policy{Signatures: SignaturesWarn, MaxMemoryMB: 1024, Destinations: []string{"*.example"}},
			admin,
			Policy{File: admin.File, Signatures: SignaturesRequire, Signers: admin.Signers, MaxMemoryMB: 512, Destinations: admin.Destinations, Registries: admin.Registries}},
		"nothing in common": {
			Policy{Signatures: SignaturesWarn, MaxMemoryMB: 1024, Signers: []string{"SHA256:other"}, Registries: []string{"other.example"}},
			admin,
			Policy{File: admin.File, Signatures: SignaturesRequire, Signers: []string{nobody}, MaxMemoryMB: 512, Destinations: admin.Destinations, Registries: []string{nobody}}},
	} {
		if got := tc.user.within(tc.admin); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %+v\nwant %+v", name, got, tc.want)
		}
	}
}

func TestAdministratorsSection(t *testing.T) {
	for text, want := range map[string]Policy{
		"networks: [none]": {Signatures: SignaturesOff, MaxMemoryMB: mostMemoryMB},
		"networks: [none]\nplugins: {signatures: require, registries: [a.example]}": {
			File: "policy.yaml", Signatures: SignaturesRequire, MaxMemoryMB: mostMemoryMB, Registries: []string{"a.example"}},
	} {
		if p, err := parseAdminPolicy("policy.yaml", []byte(text)); err != nil || !reflect.DeepEqual(p, want) {
			t.Errorf("%s: %+v, %v", text, p, err)
		}
	}
	if p, err := parseAdminPolicy("policy.yaml", []byte("plugins: {signatures: never}")); err == nil || !strings.Contains(err.Error(), "policy.yaml:1: ") {
		t.Errorf("a mistake: %+v, %v", p, err)
	}
}

// Without a file there is the user's policy; one that others than root can change is an error.
func TestAdministratorsFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "policy.yaml")
	s, err := Open(Options{DataDir: dir, StateDir: dir, AdminFile: file})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := s.Policy(); err != nil || !reflect.DeepEqual(p, DefaultPolicy()) {
		t.Errorf("without a file: %+v, %v", p, err)
	}
	if err := errors.Join(os.WriteFile(file, []byte("plugins: {signatures: off}\n"), 0o600), os.Chmod(file, 0o666)); err != nil {
		t.Fatal(err)
	}
	if p, err := s.Policy(); err == nil || !strings.Contains(err.Error(), "others than root can change "+file) && !strings.Contains(err.Error(), "others than root can change "+dir) {
		t.Errorf("%+v, %v", p, err)
	}
}
