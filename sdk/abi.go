package sdk

import "encoding/json"

// Kind is one of the three extension points.
type Kind string

// The kinds of plugin. A manifest's Implements is "<kind>/<ContractVersion>".
const (
	KindProvider Kind = "provider"
	KindFetcher  Kind = "fetcher"
	KindExpose   Kind = "expose"
)

// The functions that a plugin exports, one for each method of its contract. Each
// takes nothing and returns an i32 that is 0; its input is the Extism input, its
// output an [Envelope].
const (
	ExportProviderDescribe  = "provider_describe"  // {} → ProviderInfo
	ExportProviderOffers    = "provider_offers"    // OfferQuery → []Offer
	ExportProviderCreate    = "provider_create"    // CreateInput → CreateStep
	ExportProviderObserve   = "provider_observe"   // ObserveInput → []Observation
	ExportProviderList      = "provider_list"      // ListInput → []Listed
	ExportProviderTerminate = "provider_terminate" // TerminateInput → {}
	ExportProviderSnapshot  = "provider_snapshot"  // SnapshotInput → SnapshotStep; only with FeatureSnapshot
	ExportProviderAccount   = "provider_account"   // {} → Account; of an [Accounter]
	ExportProviderRoute     = "provider_route"     // RouteInput → Route; of a [Router]
	ExportProviderCheck     = "provider_check"     // CheckQuery → []Finding; of a [Checker]
	ExportProviderClean     = "provider_clean"     // CleanInput → []Cleaned; of a [Cleaner]
	ExportFetcherResolve    = "fetcher_resolve"    // ModelRef → ResolvedModel
	ExportFetcherLocate     = "fetcher_locate"     // FileRef → Location
	ExportExpose            = "expose"             // ExposeRequest → Surface
)

// Exports lists the functions that a plugin of the kind must export.
func (k Kind) Exports() []string {
	switch k {
	case KindProvider:
		return []string{ExportProviderDescribe, ExportProviderOffers, ExportProviderCreate,
			ExportProviderObserve, ExportProviderList, ExportProviderTerminate}
	case KindFetcher:
		return []string{ExportFetcherResolve, ExportFetcherLocate}
	case KindExpose:
		return []string{ExportExpose}
	default:
		return nil
	}
}

// Envelope is the output of every export and host function: exactly one field
// is present.
type Envelope struct {
	OK    json.RawMessage `json:"ok,omitempty"`
	Error *Error          `json:"error,omitempty"`
}

// CreateInput is the input of [ExportProviderCreate].
type CreateInput struct {
	Spec   MachineSpec     `json:"spec"`
	Cursor json.RawMessage `json:"cursor,omitempty"` // absent on the first call
}

// ObserveInput is the input of [ExportProviderObserve].
type ObserveInput struct {
	Handles []string `json:"handles"`
}

// ListInput is the input of [ExportProviderList].
type ListInput struct {
	Owner string `json:"owner"`
}

// SnapshotInput is the input of [ExportProviderSnapshot].
type SnapshotInput struct {
	Handle string          `json:"handle"`
	Key    string          `json:"key"`
	Cursor json.RawMessage `json:"cursor,omitempty"` // absent on the first call
}

// RouteInput is the input of [ExportProviderRoute].
type RouteInput struct {
	Handle string `json:"handle"`
	Port   int    `json:"port"`
}

// TerminateInput is the input of [ExportProviderTerminate].
type TerminateInput struct {
	Handle string `json:"handle"`
}

// The functions that the host offers, in the import module [HostModule]. Each
// takes the i64 offset of an Extism memory block with its JSON input and returns
// the offset of a block with an [Envelope].
const (
	HostModule       = "extism:host/user"
	HostFolderList   = "folder_list"   // FolderInput → []FolderEntry
	HostFolderRead   = "folder_read"   // FolderInput → base64 string; at most FolderReadLimit bytes
	HostFolderDigest = "folder_digest" // FolderInput → hex SHA-256 of a file, computed by the host
	HostSettings     = "settings"      // {} → {name: value} of the manifest's settings
	HostHTTPOpen     = "http_open"     // HTTPOpen → Opened
	HostGRPCOpen     = "grpc_open"     // GRPCOpen → Opened
	HostSSHOpen      = "ssh_open"      // SSHOpen → Opened
	HostSSHHosts     = "ssh_hosts"     // {} → names of the hosts on which this plugin has run something, sorted
	HostKubeOpen     = "kube_open"     // KubeOpen → Opened
	HostKubeContexts = "kube_contexts" // KubeContextsInput → KubeContexts
)

// HostFunction is a function of the host and the first version of Seer that has it.
type HostFunction struct{ Name, Since string }

// HostFunctions lists the host functions of this version of the contract.
func HostFunctions() []HostFunction {
	return []HostFunction{
		{HostFolderList, "0.1.0"}, {HostFolderRead, "0.1.0"}, {HostFolderDigest, "0.1.0"},
		{HostSettings, "0.1.0"}, {HostHTTPOpen, "0.1.0"}, {HostGRPCOpen, "0.1.0"},
		{HostStreamSend, "0.1.0"}, {HostStreamCredit, "0.1.0"}, {HostStreamWait, "0.1.0"},
		{HostSSHOpen, "0.1.0"}, {HostSSHHosts, "0.1.0"},
		{HostKubeOpen, "0.1.0"}, {HostKubeContexts, "0.1.0"},
	}
}

// NeedsSection is the name of the Wasm custom section in which a build notes what it
// needs of a host, so that an older one can say so: JSON of [Needs].
const NeedsSection = "seer.needs"

// Needs is what a module needs of a host, found out when it is built.
type Needs struct {
	Contract []string          `json:"contract"`       // as Implements of the manifest
	Seer     string            `json:"seer"`           // the first version that has all of it
	Host     map[string]string `json:"host,omitempty"` // host function → first version that has it
}

// The functions that move data of open streams have signatures of their own. None
// of them waits, but stream_wait; a guest has one thread, so that waiting anywhere
// else would stop all its goroutines.
const (
	// HostStreamSend (stream i64, block i64, flags i32) → i32 hands over a piece of a
	// request body, or one gRPC message. The answer is [SendOK], [SendFull] (nothing was
	// taken: an [EventRoom] will follow) or [SendOver] (the stream has ended).
	HostStreamSend = "stream_send"
	// HostStreamCredit (stream i64, bytes i64) allows the host to deliver that many more
	// bytes of data. A stream begins with [StreamWindow].
	HostStreamCredit = "stream_credit"
	// HostStreamWait (max_ms i64) → i64 waits for events of any stream and returns the
	// offset of a block with one or more, or 0 when there was none in time. An event is
	// the u32 little-endian length of its JSON, an [Event], then Event.Size bytes of
	// payload.
	HostStreamWait = "stream_wait"
)

// The flags of [HostStreamSend].
const (
	SendEnd    = 1 // nothing more will be sent
	SendCancel = 2 // give the stream up; its events stop
	SendData   = 4 // the block holds data, which may be empty
)

// The answers of [HostStreamSend].
const (
	SendOK   = 0
	SendFull = 1
	SendOver = -1
)

// Limits of streams.
const (
	StreamWindow = 1 << 20   // bytes that may be on the way to the guest; one gRPC message may exceed it
	MaxMessage   = 100 << 20 // largest gRPC message
	MaxStreams   = 64        // open at once in one instance
)

// HTTPOpen is the input of [HostHTTPOpen]. Redirects are followed by the host, for
// GET and HEAD only, and each is checked like a request of its own; with KeepRedirects the
// guest gets the answer that redirects.
type HTTPOpen struct {
	Method         string              `json:"method"`
	URL            string              `json:"url"`
	Headers        map[string][]string `json:"headers,omitempty"`
	Body           bool                `json:"body,omitempty"`            // a body follows with stream_send
	ContentLength  int64               `json:"content_length,omitempty"`  // of the body; 0 with Body = unknown
	TimeoutSeconds float64             `json:"timeout_seconds,omitempty"` // of the whole exchange; 0 = that of the call
	KeepRedirects  bool                `json:"keep_redirects,omitempty"`  // answers that redirect are the guest's
}

// GRPCOpen is the input of [HostGRPCOpen]. Metadata of binary keys (-bin) is base64.
type GRPCOpen struct {
	Target         string              `json:"target"` // https://host[:port], or http:// where the user has configured it
	Method         string              `json:"method"` // /package.Service/Method
	Metadata       map[string][]string `json:"metadata,omitempty"`
	TimeoutSeconds float64             `json:"timeout_seconds,omitempty"`
}

// SSHOpen is the input of [HostSSHOpen]: a command that the user's own OpenSSH runs on a
// host, with what the user's ssh_config says about it. What the guest sends is the command's
// standard input, and EventData its standard output, of which there are 16 MiB at most.
// EventEnd has the exit code in Code and the end of its standard error, at most 4 KiB, in
// Message; or Error where the command did not run: [Unauthorized] if the login fails,
// [NotFound] if there is no such host, [Unavailable] if it cannot be reached.
type SSHOpen struct {
	Host           string   `json:"host"`                      // as ssh takes it: a name of ssh_config, host or user@host
	Argv           []string `json:"argv"`                      // the command; [SSHProgram] as the first is Seer's program there
	Body           bool     `json:"body,omitempty"`            // standard input follows with stream_send
	TimeoutSeconds float64  `json:"timeout_seconds,omitempty"` // of the whole command; 0 = that of the call
}

// SSHProgram as the first of [SSHOpen].Argv or [SSHRoute].Command is seer-runtime on that
// host. The engine brings it there.
const SSHProgram = "{seer-runtime}"

// Opened is the result of opening a stream. A number is never used twice in one instance.
type Opened struct {
	Stream int64 `json:"stream"`
}

// EventKind is the kind of an [Event].
type EventKind string

// The kinds of [Event].
const (
	EventHead   EventKind = "head"   // Status (HTTP) and Headers
	EventData   EventKind = "data"   // payload: a piece of the body, or one gRPC message
	EventRoom   EventKind = "room"   // after SendFull: the guest may send again
	EventEnd    EventKind = "end"    // the last of a stream
	EventCancel EventKind = "cancel" // of no stream: the engine has given up; come to an end within [CancelGraceSeconds]
)

// CancelGraceSeconds is how long a guest may run after [EventCancel].
const CancelGraceSeconds = 2

// Event is something that happened to a stream.
type Event struct {
	Stream  int64               `json:"s,omitempty"`
	Kind    EventKind           `json:"k"`
	Size    int                 `json:"n,omitempty"`       // bytes of payload
	Status  int                 `json:"status,omitempty"`  // of HTTP
	Headers map[string][]string `json:"headers,omitempty"` // EventHead: headers; EventEnd of gRPC: trailers
	Error   *Error              `json:"error,omitempty"`   // EventEnd: the host refused or failed; no answer came

	// EventEnd of gRPC that was answered, and of a command that has run on a host. With details
	// the payload is the whole google.rpc.Status.
	Code    uint32 `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// FolderReadLimit is the largest file that [HostFolderRead] returns.
const FolderReadLimit = 1 << 20

// FolderInput names something inside a folder that the user granted.
type FolderInput struct {
	Folder string `json:"folder"` // absolute, as the user named it
	Path   string `json:"path"`   // slash-separated, inside; "." = the folder itself
	// Next are files whose digests will be asked for next, in this order, so that the host can
	// compute several at once. Older hosts do not heed it.
	Next []string `json:"next,omitempty"`
}

// FolderEntry is one entry of a folder. Symbolic links that stay in the folder
// are reported as what they point to.
type FolderEntry struct {
	Name string `json:"name"`
	Type string `json:"type"` // file, dir, other
	Size int64  `json:"size"`
}
