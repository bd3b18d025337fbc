package doctor

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/netproxy"
	"github.com/seer-engine/seer/engine/remedy"
)

// TestNetworkFix names packages only where none of the tools is installed.
func TestNetworkFix(t *testing.T) {
	pasta, slirp := &netproxy.NotInstalled{Name: "pasta"}, &netproxy.NotInstalled{Name: "slirp4netns"}
	for _, c := range []struct {
		err      error
		packages bool
	}{
		{netproxy.NoUplink{pasta, slirp}, true},
		{netproxy.NoUplink{&netproxy.NotInstalled{Name: "nft"}}, true},
		{netproxy.NoUplink{errors.New("pasta: the namespace reaches nothing: i/o timeout"), slirp}, false},
		{netproxy.NoUplink{errors.New("open /dev/net/tun: permission denied; as root, run: chmod 0666 /dev/net/tun")}, false},
		{context.Canceled, false},
	} {
		fix, remedies := networkFix(c.err)
		if strings.Contains(fix, "apt-get install") != c.packages || remedy.Has(remedies, remedy.FixHost) != c.packages || !strings.HasPrefix(fix, c.err.Error()) {
			t.Errorf("%s: %s", c.err, fix)
		}
	}
}
