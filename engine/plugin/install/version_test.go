package install

import "testing"

func TestVersions(t *testing.T) {
	in := []string{"0.9.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11",
		"1.0.0-rc.1", "1.0.0", "1.0.1", "1.2.0", "1.10.0", "2.0.0", "20000000000000000000000.0.0"}
	for i := range in {
		for j := range in {
			if got := older(in[i], in[j]); got != (i < j) {
				t.Errorf("%s older than %s: %v", in[i], in[j], got)
			}
		}
	}
	if older("1.0.0+a", "1.0.0+b") || older("1.0.0+b", "1.0.0+a") {
		t.Error("builds of one version differ")
	}
}
