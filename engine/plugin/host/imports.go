package host

import (
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/wasmfile"
)

const (
	extismModule = "extism:host/env"
	wasiModule   = "wasi_snapshot_preview1"
)

// extismFunctions is the Extism ABI. The http functions are there because other
// PDKs import them unasked; no address is allowed, so calling them fails.
var extismFunctions = strings.Fields(`alloc free load_u8 load_u64 store_u8 store_u64 length length_unsafe
	input_length input_offset input_load_u8 input_load_u64 input_set output_set output_length output_offset error_set error_get
	reset memory_bytes config_get var_get var_set http_request http_status_code http_headers
	log_trace log_debug log_info log_warn log_error get_log_level`)

var wasiFunctions = strings.Fields(`args_get args_sizes_get environ_get environ_sizes_get clock_res_get clock_time_get
	fd_advise fd_allocate fd_close fd_datasync fd_fdstat_get fd_fdstat_set_flags fd_fdstat_set_rights fd_filestat_get
	fd_filestat_set_size fd_filestat_set_times fd_pread fd_prestat_get fd_prestat_dir_name fd_pwrite fd_read fd_readdir
	fd_renumber fd_seek fd_sync fd_tell fd_write path_create_directory path_filestat_get path_filestat_set_times path_link
	path_open path_readlink path_remove_directory path_rename path_symlink path_unlink_file poll_oneoff proc_exit proc_raise
	sched_yield random_get sock_accept sock_recv sock_send sock_shutdown`)

// checkInterface compares what the module needs and offers with what the host
// has and the manifest says, so that a mismatch has a name before anything runs.
func checkInterface(p Plugin, m wasmfile.Module, version string) error {
	needs := needsOf(m)
	for _, imp := range m.Imports {
		if !known(imp) {
			if newer := newerSeer(needs.Host[imp.Name], version); newer != "" && imp.Module == sdk.HostModule {
				return fault(FaultImports, p, "%s: host function %s; use a newer version of this program, or another build of the plugin", newer, imp.Name)
			}
			return fault(FaultImports, p, "needs the host function %q of %q, which this program does not have; use a newer version of this program, or another build of the plugin", imp.Name, imp.Module)
		}
	}
	for _, kind := range []sdk.Kind{sdk.KindProvider, sdk.KindFetcher, sdk.KindExpose} {
		if !implements(p.Manifest, kind) {
			continue
		}
		for _, name := range kind.Exports() {
			if !m.HasExport(name) {
				return fault(FaultExports, p, "implements %s/%d but does not export the function %q", kind, sdk.ContractVersion, name)
			}
		}
	}
	return nil
}

func known(imp wasmfile.Import) bool {
	if !imp.Func {
		return false
	}
	switch imp.Module {
	case wasiModule:
		return slices.Contains(wasiFunctions, imp.Name)
	case extismModule:
		return slices.Contains(extismFunctions, imp.Name)
	case sdk.HostModule:
		return slices.ContainsFunc(sdk.HostFunctions(), func(f sdk.HostFunction) bool { return f.Name == imp.Name })
	default:
		return false
	}
}
