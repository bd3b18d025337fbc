package guest

import (
	pdk "github.com/extism/go-pdk"

	"github.com/seer-engine/seer/sdk"
)

func input() []byte   { return pdk.Input() }
func output(b []byte) { pdk.Output(b) }

func logDebug(s string) { pdk.Log(pdk.LogDebug, s) }
func logInfo(s string)  { pdk.Log(pdk.LogInfo, s) }
func logWarn(s string)  { pdk.Log(pdk.LogWarn, s) }

//go:wasmimport extism:host/user folder_list
func folderList(offset uint64) uint64

//go:wasmimport extism:host/user folder_read
func folderRead(offset uint64) uint64

//go:wasmimport extism:host/user folder_digest
func folderDigest(offset uint64) uint64

func hostCall(function string, in []byte) []byte {
	mem := pdk.AllocateBytes(in)
	defer mem.Free()
	var offset uint64
	switch function {
	case sdk.HostFolderList:
		offset = folderList(mem.Offset())
	case sdk.HostFolderRead:
		offset = folderRead(mem.Offset())
	case sdk.HostFolderDigest:
		offset = folderDigest(mem.Offset())
	}
	out := pdk.FindMemory(offset)
	defer out.Free()
	return out.ReadBytes()
}
