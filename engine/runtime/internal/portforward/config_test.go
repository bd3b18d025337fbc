package portforward

import (
	"path/filepath"
	"testing"
)

func FuzzParse(f *testing.F) {
	f.Add(`{"dir":"/run/seer/ports","ports":[8888],"proxy":"/run/seer/proxy","proxy_port":3128}`)
	f.Add(`{"dir":"x","ports":[0]}`)
	f.Add(`{} {}`)
	f.Fuzz(func(t *testing.T, text string) {
		g, err := Parse(text)
		if err != nil || g == nil {
			return
		}
		for _, port := range g.Ports {
			if port < 1 || port > 65535 || !filepath.IsAbs(g.Dir) {
				t.Errorf("%q became %+v", text, g)
			}
		}
		if (g.Proxy == "") != (g.ProxyPort == 0) {
			t.Errorf("%q became %+v", text, g)
		}
		_ = g.Environment()
	})
}
