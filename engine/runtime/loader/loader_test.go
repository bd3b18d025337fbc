package loader_test

import (
	"regexp"
	"testing"

	"github.com/seer-engine/seer/engine/runtime/loader"
)

// TestCommandIsOneSafeLine because some clouds split a command like a shell, and
// limit it.
func TestCommandIsOneSafeLine(t *testing.T) {
	argv := loader.Command("python3")
	if len(argv) != 5 || argv[0] != "python3" {
		t.Fatalf("%d words", len(argv))
	}
	if code := argv[4]; !regexp.MustCompile(`^[A-Za-z0-9+/=(),.;_" ]+$`).MatchString(code) || len(code) > 13<<10 {
		t.Errorf("%d characters, beginning with %.80s", len(code), code)
	}
}

func TestBootEnvNeedsWhatTheLoaderNeeds(t *testing.T) {
	for _, b := range []loader.Boot{{}, {Listen: "unix:/s"}, {Listen: "unix:/s", AdminSHA256: "abc"}} {
		if _, err := loader.BootEnv(b); err == nil {
			t.Errorf("%+v was accepted", b)
		}
	}
}
