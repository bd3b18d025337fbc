package experiment_test

import (
	"strings"
	"testing"
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
