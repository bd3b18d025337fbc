package event

// ModelResolving says that the files of a model are looked up.
type ModelResolving struct {
	step
	Model string `json:"model" jsonschema:"name in the experiment"`
}

// ModelOmitted says that files of a model are left out, because nobody has asked for them: copies of
// the weights in other formats, for example.
type ModelOmitted struct {
	step
	Model string `json:"model" jsonschema:"name in the experiment"`
	Files int    `json:"files" jsonschema:"how many"`
	Bytes int64  `json:"bytes" jsonschema:"of these files"`
}

// ModelReady says that the files of a model are there.
type ModelReady struct {
	done
	Model    string `json:"model"`
	Revision string `json:"revision,omitempty" jsonschema:"immutable; empty = the folder as it is"`
	Files    int    `json:"files" jsonschema:"how many"`
	Bytes    int64  `json:"bytes" jsonschema:"of all files"`
	License  string `json:"license,omitempty" jsonschema:"as the source names it"`
	Gate     string `json:"gate,omitempty" jsonschema:"how the source restricts access"`
}

// ModelCacheReadOnly says that the cache of the Hub's clients cannot be written: what is in it is
// used, and what is missing goes to Seer's own cache.
type ModelCacheReadOnly struct {
	warning
	Model string `json:"model"`
	Dir   string `json:"dir" jsonschema:"of the cache"`
}

// ModelSourceUnreachable says that the source of a model could not be asked. The revision that is
// on this computer is used, as it was when the source was last asked.
type ModelSourceUnreachable struct {
	warning
	Model    string `json:"model"`
	Revision string `json:"revision" jsonschema:"that is used"`
	Reason   string `json:"reason"`
}

// ModelFileMismatch says that a file in the cache of the Hub's clients has not the content that its
// name promises. It is not used; a cache that can be written gets the right file.
type ModelFileMismatch struct {
	warning
	Model string `json:"model"`
	Path  string `json:"path" jsonschema:"of the file in the cache"`
}

// ModelCacheCopied says that files were copied from the cache of the Hub's clients, because Seer's own
// cache cannot have hard links to them.
type ModelCacheCopied struct {
	warning
	Model string `json:"model"`
	Dir   string `json:"dir" jsonschema:"of the cache"`
	Bytes int64  `json:"bytes" jsonschema:"of the copies"`
}

// ModelDownloadStarted says that the machine downloads a model by itself.
type ModelDownloadStarted struct {
	step
	Model string `json:"model"`
	Path  string `json:"path" jsonschema:"in the sandbox"`
	Files int    `json:"files" jsonschema:"how many"`
	Bytes int64  `json:"bytes" jsonschema:"of all files"`
}

// ModelThroughHere says that a model goes through this computer, because the rented machine cannot
// download it.
type ModelThroughHere struct {
	warning
	Model  string `json:"model"`
	Reason string `json:"reason"`
}

// HiddenNameCommon says that the name of a hidden model has only common words, and is not
// searched for.
type HiddenNameCommon struct {
	warning
	Name string `json:"name"`
}

// HiddenNameShown says that the name of a hidden model is also that of its architecture, which
// the agent sees.
type HiddenNameShown struct {
	warning
	Name string `json:"name"`
}

// HiddenArchitecture lists words that the architecture of a hidden model shows to the agent.
type HiddenArchitecture struct {
	step
	Words []string `json:"words"`
}

// HiddenValuesRemoved lists values of a hidden model's configuration that the agent does not
// see.
type HiddenValuesRemoved struct {
	step
	Model  string   `json:"model"`
	Values []string `json:"values" jsonschema:"paths of the values"`
}

// HiddenSearchStarted says that the sandbox is searched for names of hidden models.
type HiddenSearchStarted struct{ step }

// HiddenSearchFinished says that no name was found.
type HiddenSearchFinished struct {
	done
	In         string   `json:"in" jsonschema:"what was searched"`
	Unsearched []string `json:"unsearched,omitempty" jsonschema:"what was not searched"`
}

// HiddenUnsearched says that not all of something was searched for names of hidden models.
type HiddenUnsearched struct {
	warning
	In string `json:"in"`
}

// HiddenNotIsolated says that a hidden model is not hidden, because nothing confines the agent.
type HiddenNotIsolated struct {
	warning
	Field string `json:"field" jsonschema:"of the experiment: isolation or agent.isolation"`
}

// HiddenNamesSeen says where names of hidden models were seen during the run.
type HiddenNamesSeen struct {
	warning
	Places []string `json:"places" jsonschema:"with how often"`
}

// HiddenNamesUnseen says that no name of a hidden model was found in what the run has left.
type HiddenNamesUnseen struct {
	done
	In         string   `json:"in" jsonschema:"what was searched"`
	Unsearched []string `json:"unsearched,omitempty" jsonschema:"what was not searched"`
}
