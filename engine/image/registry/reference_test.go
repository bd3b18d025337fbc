package registry_test

import (
	"testing"

	"github.com/seer-engine/seer/engine/image"
	"github.com/seer-engine/seer/engine/image/registry"
	"github.com/seer-engine/seer/sdk"
)

func TestNames(t *testing.T) {
	digest := "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for ref, want := range map[string]string{
		"python":                       "docker.io/library/python:latest",
		"python:3.12":                  "docker.io/library/python:3.12",
		"pytorch/pytorch":              "docker.io/pytorch/pytorch:latest",
		"ghcr.io/a/b/c:1":              "ghcr.io/a/b/c:1",
		"localhost/x":                  "localhost/x:latest",
		"localhost:5000/x:1":           "localhost:5000/x:1",
		"python@" + digest:             "docker.io/library/python@" + digest,
		"quay.io/x/y:tag@" + digest:    "quay.io/x/y@" + digest,
		"nvcr.io/nvidia/cuda:12.4-ubi": "nvcr.io/nvidia/cuda:12.4-ubi",
	} {
		r, err := registry.Open(ref, image.Options{})
		if err != nil || r.Name() != want {
			t.Errorf("%s: %v, %v", ref, r, err)
		}
	}
	for _, ref := range []string{"", "Python", "a b", "x:", "../x", "x@sha256:1", "https://x/y", "x\x00"} {
		if r, err := registry.Open(ref, image.Options{}); sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("%q: %v, %v", ref, r, err)
		}
	}
}
