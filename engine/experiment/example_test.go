package experiment_test

import (
	"fmt"

	"github.com/seer-engine/seer/engine/experiment"
)

// Every mistake is reported at once, with its place and what to do.
func ExampleParse() {
	text := `name: first
sandbox:
  modles: [./tiny-model]
  timeout: soon
serve:
  - {file: json.py}
`
	_, err := experiment.Parse([]byte(text), "seer.yaml", experiment.LoadOptions{})
	fmt.Println(err)
	// Output:
	// seer.yaml:3: sandbox: unknown key `modles`; did you mean `models`?
	// seer.yaml:4: sandbox.timeout: expected a duration, got the string `soon`; write seconds, or 90m, 2h, 1d
	// seer.yaml:6: serve.0.name: `json` is a module of Python itself, which it would hide; set another name:, as in json_tools
}

// An experiment can be built in code; Complete does for it what Parse does for
// a file.
func ExampleExperiment_Complete() {
	e := &experiment.Experiment{
		Sandbox: experiment.Sandbox{Models: []experiment.Model{{Name: "./tiny-model"}}},
		Serve:   []experiment.Serve{{File: "interface.py"}},
	}
	if err := e.Complete("/lab/intro"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e.Name, e.Sandbox.Timeout, e.Serve[0].Name, e.Sandbox.Models[0].EnvName())
	// Output: intro 1h0m0s interface MODEL_TINY_MODEL_PATH
}
