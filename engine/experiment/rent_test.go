package experiment_test

import (
	"strings"
	"testing"
	"time"
)

func TestSizes(t *testing.T) {
	for text, want := range map[string]float64{"16": 16, "0.5": 0.5, "16GB": 16, "16 GiB": 16, "512MB": 0.5, "1.5TiB": 1536, "1e2": 100} {
		exp, err := parse("sandbox: {memory: " + text + "}")
		if err != nil || exp.Sandbox.MemoryGB != want {
			t.Errorf("%s: got %v, %v, want %v", text, exp, err, want)
		}
	}
	for _, text := range []string{"16G", "GB", "-1GB", "1,5GB", "16GB!", "0x10GB", "1e2GB", "true"} {
		if _, err := parse("sandbox: {memory: '" + text + "'}"); err == nil || !strings.Contains(err.Error(), "sandbox.memory: ") {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// max_wait needs no list of providers, and its mistakes are found with all others.
func TestMaxWait(t *testing.T) {
	for text, want := range map[string]time.Duration{"20m": 20 * time.Minute, "1d": 24 * time.Hour, "90": 90 * time.Second, "null": 0} {
		exp, err := parse("sandbox: {max_wait: " + text + "}")
		if err != nil || exp.Sandbox.MaxWait != want {
			t.Errorf("%s: got %v, %v, want %v", text, exp, err, want)
		}
	}
	for text, want := range map[string]string{
		"soon": "expected a duration, got the string `soon`", "[20m]": "expected a duration, got a list", "-20m": "`-20m` is shorter than a second",
		"0": "`0` is shorter than a second", "31d": "`31d` is longer than 30 days", "true": "expected a duration",
	} {
		if _, err := parse("sandbox:\n  max_wait: " + text); err == nil || !strings.Contains(err.Error(), "e.yaml:2: sandbox.max_wait: "+want) {
			t.Errorf("%s: got %v", text, err)
		}
	}
	_, err := parse("sandbox:\n  provider: [slurm, slurm]\n  max_wait: -1\n  timeout: 0")
	for _, want := range []string{"e.yaml:2: sandbox.provider.1: ", "e.yaml:3: sandbox.max_wait: `-1` is shorter than a second", "e.yaml:4: sandbox.timeout: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

// A file may carry options for the providers that --set chooses between.
func TestOptionsOfAProviderChosenOnTheCommandLine(t *testing.T) {
	const both = "sandbox: {provider_options: {modal: {app: x, retries: 2}, runpod: {cloud: COMMUNITY}}}"
	exp, err := parse(both, "sandbox.provider=runpod")
	if err != nil || string(exp.Sandbox.Options("runpod")) != `{"cloud":"COMMUNITY"}` || string(exp.Sandbox.Options("modal")) != `{"app":"x","retries":2}` {
		t.Errorf("got %+v, %v", exp, err)
	}
	if exp.Sandbox.Options("local") != nil {
		t.Error("a provider without options has some")
	}
	if exp, err = parse(both, "sandbox.provider=modal", "sandbox.provider_options.modal.app=y"); err != nil || string(exp.Sandbox.Options("modal")) != `{"app":"y","retries":2}` {
		t.Errorf("got %+v, %v", exp, err)
	}
}

func TestSnapshotInsteadOfAnImage(t *testing.T) {
	exp, err := parse("sandbox: {provider: modal, image: {snapshot: im-123}}")
	if err != nil || exp.Sandbox.Image.Snapshot != "im-123" {
		t.Errorf("got %+v, %v", exp, err)
	}
}

// One disk for the models of all sandboxes is what volumes are mostly for.
func TestVolumesThatAreFine(t *testing.T) {
	for _, text := range []string{
		"sandbox: {models: [./m], volumes: [{name: weights, path: /models}]}",
		"sandbox: {volumes: [{name: work, path: /workspace}], local_files: [[a, /workspace/a]]}",
		"sandbox: {volumes: [{name: sets, path: /data, read_only: true}, {name: more, path: /data2}]}",
	} {
		if _, err := parse(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestNamesOfImages(t *testing.T) {
	for base, want := range map[string]string{
		"python:3.12-slim": "", "ghcr.io/org/name@sha256:ab": "", "/shared/my images/torch.sif": "", "/shared/rootfs": "",
		"./a.sif":              "`./a.sif` is not absolute, and it is a path on the computer of the machine; begin it with /, for example /shared/images/torch.sif",
		"~/a.sif":              "`~/a.sif` is not absolute",
		"/images/../a.sif":     "`/images/../a.sif` is not a plain path of an image; write for example /shared/images/torch.sif",
		"/":                    "`/` is not a plain path",
		"docker://python:3.12": "`docker://` is not a part of the name of an image; write `python:3.12`, or the absolute path of a file",
		"two words":            "`two words` is not the name of an image; write for example debian:12",
	} {
		_, err := parse("sandbox:\n  image:\n    base: '" + base + "'")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), "3: sandbox.image.base: "+want)) {
			t.Errorf("%s: %v", base, err)
		}
	}
}
