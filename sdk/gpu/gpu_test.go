package gpu_test

import (
	"testing"

	"github.com/seer-engine/seer/sdk/gpu"
)

func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{
		"NVIDIA A100 80GB PCIe":          "A100-80GB-PCIE",
		"NVIDIA A100-SXM4-80GB":          "A100-80GB-SXM",
		"NVIDIA A100-SXM4-40GB":          "A100-40GB-SXM",
		"NVIDIA H100 80GB HBM3":          "H100-SXM",
		"NVIDIA H100 PCIe":               "H100-PCIE",
		"NVIDIA H100 NVL":                "H100-NVL",
		"NVIDIA H200":                    "H200",
		"NVIDIA GeForce RTX 4090":        "RTX-4090",
		"NVIDIA RTX A5000":               "RTX-A5000",
		"NVIDIA RTX 6000 Ada Generation": "RTX-6000-ADA",
		"AMD Instinct MI300X OAM":        "MI300X",
		"A10G":                           "A10",
		"a100-40gb":                      "A100-40GB",
		"h100!":                          "H100!",
		"RTX-PRO-6000":                   "RTX-PRO-6000",
		"":                               "",
	} {
		if got := gpu.Canonical(text); got != want {
			t.Errorf("%q is %q, not %q", text, got, want)
		}
		if got := gpu.Canonical(gpu.Canonical(text)); got != want {
			t.Errorf("%q does not stay what it is: %q", text, got)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		want, have string
		ok         bool
	}{
		{"A100", "NVIDIA A100 80GB PCIe", true},
		{"A100-80GB", "NVIDIA A100-SXM4-40GB", false},
		{"a100-80gb", "A100-80GB-SXM", true},
		{"H100", "H100-NVL", true},
		{"H100-SXM", "H100-NVL", false},
		{"H100!", "H100", true},
		{"H100", "H200", false},
		{"L4", "L40", false},
		{"RTX 4090", "NVIDIA GeForce RTX 4090", true},
		{"A10", "A10G", true},
		{gpu.Any, "NVIDIA L4", true},
		{"RTX 6000 Ada", "NVIDIA RTX 6000 Ada Generation", true},
	} {
		if got := gpu.Match(tc.want, tc.have); got != tc.ok {
			t.Errorf("%q by %q: %v", tc.want, tc.have, got)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	f.Add("NVIDIA A100-SXM4-80GB")
	f.Fuzz(func(t *testing.T, text string) {
		if c := gpu.Canonical(text); gpu.Canonical(c) != c {
			t.Errorf("%q becomes %q becomes %q", text, c, gpu.Canonical(c))
		}
	})
}

func TestMistaken(t *testing.T) {
	for name, want := range map[string]string{
		"A1000":                          "A100",
		"A1OO":                           "A100",
		"nvidia h1O0-80GB":               "H100",
		"HI00":                           "H100",
		"RTX4090":                        "RTX-4090",
		"L44S":                           "",
		"RTX-A-6000":                     "RTX-A6000",
		"MI300":                          "", // like MI210
		"A100":                           "",
		"A10G":                           "",
		"H100!":                          "",
		"*":                              "",
		"NVIDIA RTX 6000 Ada Generation": "",
		"B400":                           "", // of a coming generation
		"RTX-6090":                       "",
		"TPU-v6e":                        "", // of another kind
	} {
		got := ""
		if near := gpu.Mistaken(name); len(near) > 0 {
			got = near[0]
		}
		if got != want {
			t.Errorf("%s is taken for %q, not %q", name, got, want)
		}
	}
}
