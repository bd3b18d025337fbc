package fakehub

// Repo is a repository.
type Repo struct {
	ID       string // org/name, or a name alone as of the oldest repositories
	Type     Type   // default: Model
	Private  bool   // only the owner and the readers can see it
	Gated    string // "auto" or "manual": only the owner and the readers can fetch files
	Disabled bool
	Readers  []string // names of users

	Commits  []Commit       // oldest first; each has all files that there are then
	Branches map[string]int // name → index in Commits; main is the last commit unless it is named here
	Tags     map[string]int
	Pulls    map[int]int // number of a pull request → index in Commits, as refs/pr/NUMBER

	Info map[string]any // further keys of the repository's information, such as config
}

// Type is what kind of repository one is, as URLs spell it.
type Type string

// The types. The name of a repository that is no model begins with its type in URLs and in
// calls of the hub: datasets/org/name.
const (
	Model   Type = "models"
	Dataset Type = "datasets"
	Space   Type = "spaces"
)

// Commit is a state of a repository.
type Commit struct {
	Title string // default: "Commit NUMBER"
	Files map[string]File
}

// File is a file of a commit.
type File struct {
	Content Content // nil = empty
	Kind    Kind
}

// Kind is how the Hub stores a file.
type Kind int

// The kinds.
const (
	Git Kind = iota // in the repository itself, for small files
	LFS             // beside it, under its SHA-256
	Xet             // beside it, in chunks; clients that do not know Xet get it as from LFS
)

// Name is how URLs name the repository: datasets/org/name, or org/name for a model.
func (r Repo) Name() string {
	if r.Type == Model || r.Type == "" {
		return r.ID
	}
	return string(r.Type) + "/" + r.ID
}
