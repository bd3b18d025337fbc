package guest

import (
	pdk "github.com/extism/go-pdk"

	"github.com/seer-engine/seer/sdk/guest/internal/abi"
)

func input() []byte   { return pdk.Input() }
func output(b []byte) { pdk.Output(b) }

func logDebug(s string) { pdk.Log(pdk.LogDebug, s) }
func logInfo(s string)  { pdk.Log(pdk.LogInfo, s) }
func logWarn(s string)  { pdk.Log(pdk.LogWarn, s) }

//go:wasmimport extism:host/user folder_list
func hostFolderList(offset uint64) uint64

//go:wasmimport extism:host/user folder_read
func hostFolderRead(offset uint64) uint64

//go:wasmimport extism:host/user folder_digest
func hostFolderDigest(offset uint64) uint64

//go:wasmimport extism:host/user settings
func hostSettings(offset uint64) uint64

// A plugin imports only what it uses: each function is reached on a way of its own.
func folderList(in []byte) []byte   { return abi.Call(hostFolderList, in) }
func folderRead(in []byte) []byte   { return abi.Call(hostFolderRead, in) }
func folderDigest(in []byte) []byte { return abi.Call(hostFolderDigest, in) }
func settings(in []byte) []byte     { return abi.Call(hostSettings, in) }
