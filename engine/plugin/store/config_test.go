package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadDefaultGPU reads the provider beside the policy, and finds mistakes.
func TestReadDefaultGPU(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "",
		"plugins: {signatures: off}\n":       "",
		"providers: {default_gpu: acme}\n":   "acme",
		"providers: {default_cpu: acme}\n":   "default_cpu",
		"provider: {default_gpu: acme}\n":    "provider",
		"plugins: {}\nproviders: [acme]\n":   "providers",
		"providers: {default_gpu: [a, b]}\n": "default_gpu",
	} {
		file := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		name, err := ReadDefaultGPU(file)
		wrong := strings.Contains(text, "default_cpu") || strings.Contains(text, "provider:") || strings.Contains(text, "[")
		if wrong && (err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), want)) || !wrong && (err != nil || name != want) {
			t.Errorf("%q: %q, %v", text, name, err)
		}
		if _, policy := ReadPolicy(file); strings.Contains(text, "acme}") && !wrong && policy != nil {
			t.Error(policy)
		}
	}
	for _, none := range []string{"", filepath.Join(t.TempDir(), "none.yaml")} {
		if name, err := ReadDefaultGPU(none); name != "" || err != nil {
			t.Errorf("%q: %q, %v", none, name, err)
		}
	}
}
