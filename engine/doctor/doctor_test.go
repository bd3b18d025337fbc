package doctor

import (
	"errors"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/remedy"
)

// TestNetworkFix names packages only where none of the tools is installed.
func TestNetworkFix(t *testing.T) {
	for text, packages := range map[string]bool{
		"pasta is not installed; slirp4netns is not installed":                            true,
		"nft is not installed":                                                            true,
		"pasta: the namespace reaches nothing: i/o timeout; slirp4netns is not installed": false,
		"open /dev/net/tun: permission denied; as root, run: chmod 0666 /dev/net/tun":     false,
	} {
		fix, remedies := networkFix(errors.New(text))
		if strings.Contains(fix, "apt-get install") != packages || remedy.Has(remedies, remedy.FixHost) != packages || !strings.HasPrefix(fix, text) {
			t.Errorf("%s: %s", text, fix)
		}
	}
}
