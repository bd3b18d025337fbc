// Package plugintest is the conformance kit on a finished plugin: the checks of package
// sdktest through the real host, what can be told of the module without running it, and
// what it needs of memory and time. seer plugin test is this package.
//
// The plugin's HTTP and gRPC end in a world that the kit makes, or at the simulator that
// conformance.yaml names; only with Live does anything reach the real backend.
package plugintest

import (
	"context"
	"errors"
	"io"

	"github.com/seer-engine/seer/sdk/sdktest"
)

// Options say what is tried, and how.
type Options struct {
	Wasm   string  // the built module; the manifest is inside it, or beside it as ID.yaml
	Folder string  // of the source, with plugin.yaml and conformance.yaml; "" = that of Wasm
	Config *Config // nil = conformance.yaml of Folder, if there is one

	Quick  bool   // leave out what takes long
	Live   bool   // also on the real backend, within the limits that Config sets
	Record string // folder to write real traffic to, without credentials; needs Live
	Replay string // folder of recorded traffic, which answers in place of a simulator

	Env      func(name string) (value, where string, ok bool) // of Live: settings and secrets; nil = none
	Cache    string                                           // private folder for compiled code; "" = one that is removed at the end
	Seer     string                                           // version of the program, for the report
	Log      io.Writer                                        // what the plugin and the simulator say; nil = nobody listens
	Progress func(sdktest.Result)                             // is told of each check when it has ended; nil = nobody
}

// Run makes all checks that apply. The error is of what keeps it from trying at all: no
// module, a wrong conformance.yaml, a simulator that does not start. What is wrong with
// the plugin is in the report.
func Run(ctx context.Context, o Options) (sdktest.Report, error) {
	return sdktest.Report{}, errors.New("not yet")
}

// Text writes a report for people: failures first, then what was left out, then a line
// of figures.
func Text(w io.Writer, r sdktest.Report) error {
	return errors.New("not yet")
}
