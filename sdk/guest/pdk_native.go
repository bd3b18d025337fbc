//go:build !wasip1

package guest

import "github.com/seer-engine/seer/sdk"

// Outside Wasm there is no host to talk to. These keep a plugin's main.go
// compiling in editors, `go vet` and `go build ./...`.

func input() []byte { panic(native) }
func output([]byte) { panic(native) }

func hostCall(string, []byte) []byte { return failure(sdk.Errorf(sdk.Unsupported, native)) }

func logDebug(string) {}
func logInfo(string)  {}
func logWarn(string)  {}

const native = "sdk/guest works only in a Wasm plugin: build with GOOS=wasip1 GOARCH=wasm, and test the implementation directly"
