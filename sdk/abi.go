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
)

// FolderReadLimit is the largest file that [HostFolderRead] returns.
const FolderReadLimit = 1 << 20

// FolderInput names something inside a folder that the user granted.
type FolderInput struct {
	Folder string `json:"folder"` // absolute, as the user named it
	Path   string `json:"path"`   // slash-separated, inside; "." = the folder itself
}

// FolderEntry is one entry of a folder. Symbolic links that stay in the folder
// are reported as what they point to.
type FolderEntry struct {
	Name string `json:"name"`
	Type string `json:"type"` // file, dir, other
	Size int64  `json:"size"`
}
