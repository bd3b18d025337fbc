//go:build !wasip1

package guest

import (
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/internal/abi"
)

// Outside Wasm there is no host to talk to. These keep a plugin's main.go
// compiling in editors, `go vet` and `go build ./...`.

func input() []byte { panic(abi.Native) }
func output([]byte) { panic(abi.Native) }

func folderList([]byte) []byte   { return native() }
func folderRead([]byte) []byte   { return native() }
func folderDigest([]byte) []byte { return native() }
func settings([]byte) []byte     { return native() }

func native() []byte { return failure(sdk.Errorf(sdk.Unsupported, abi.Native)) }

func logDebug(string) {}
func logInfo(string)  {}
func logWarn(string)  {}
