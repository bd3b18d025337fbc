package testplugin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/engine/plugin/host/hosttest"
	"github.com/seer-engine/seer/sdk"
)

// Tiny is a provider that asks for some paths of its cloud.
func Tiny(t testing.TB, version string, paths ...string) bundle.Bundle {
	t.Helper()
	manifest := fmt.Sprintf("id: provider-tiny\nversion: %s\ndescription: tiny machines\nimplements: [provider/1]\nprovides: [tiny]\n", version)
	if len(paths) > 0 {
		manifest += fmt.Sprintf("permissions:\n  http:\n    - {destination: https://api.tiny.example, methods: [GET], paths: [%s], reason: to rent}\n", strings.Join(paths, ", "))
	}
	b, err := bundle.New(hosttest.Module(sdk.KindProvider, manifest), []byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
