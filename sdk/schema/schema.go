// Package schema holds the contract as JSON Schema 2020-12, for authors in other
// languages and for editors. It is generated from the types of package sdk
// (internal/schemagen), and a test fails when the two differ.
package schema

import _ "embed" // the documents

//go:embed contract.v1.json
var contract []byte

//go:embed manifest.v1.json
var manifest []byte

// ContractURL and ManifestURL are the documents' $id. Nothing is served there.
const (
	ContractURL = "https://seer.example/schema/contract.v1.json"
	ManifestURL = "https://seer.example/schema/manifest.v1.json"
)

// Contract is the schema of everything that crosses the boundary. #/$defs has each type
// by its name, and for each export NAME the definitions NAME.input and NAME.result.
func Contract() []byte { return append([]byte(nil), contract...) }

// Manifest is the schema of plugin.yaml. It knows the form of a manifest and not, as the
// host does, what makes sense in it.
func Manifest() []byte { return append([]byte(nil), manifest...) }
