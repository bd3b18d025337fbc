package event

// ModelResolving says that the files of a model are looked up.
type ModelResolving struct {
	Model string `json:"model" jsonschema:"name in the experiment"`
}

// Meta implements [Data].
func (ModelResolving) Meta() Meta { return Meta{"model.resolving", KindStep} }

// ModelOmitted says that files of a model are left out, because nobody has asked for them: copies of
// the weights in other formats, for example.
type ModelOmitted struct {
	Model string `json:"model" jsonschema:"name in the experiment"`
	Files int    `json:"files" jsonschema:"how many"`
	Bytes int64  `json:"bytes" jsonschema:"of these files"`
}

// Meta implements [Data].
func (ModelOmitted) Meta() Meta { return Meta{"model.omitted", KindStep} }

// ModelReady says that the files of a model are there.
type ModelReady struct {
	Model    string `json:"model"`
	Revision string `json:"revision,omitempty" jsonschema:"immutable; empty = the folder as it is"`
	Files    int    `json:"files" jsonschema:"how many"`
	Bytes    int64  `json:"bytes" jsonschema:"of all files"`
	License  string `json:"license,omitempty" jsonschema:"as the source names it"`
	Gate     string `json:"gate,omitempty" jsonschema:"how the source restricts access"`
}

// Meta implements [Data].
func (ModelReady) Meta() Meta { return Meta{"model.ready", KindDone} }

// ModelCacheReadOnly says that the cache of the Hub's clients cannot be written: what is in it is
// used, and what is missing goes to Seer's own cache.
type ModelCacheReadOnly struct {
	Model string `json:"model"`
	Dir   string `json:"dir" jsonschema:"of the cache"`
}

// Meta implements [Data].
func (ModelCacheReadOnly) Meta() Meta { return Meta{"model.cache_read_only", KindWarning} }

// ModelSourceUnreachable says that the source of a model could not be asked. The revision that is
// on this computer is used, as it was when the source was last asked.
type ModelSourceUnreachable struct {
	Model    string `json:"model"`
	Revision string `json:"revision" jsonschema:"that is used"`
	Reason   string `json:"reason"`
}

// Meta implements [Data].
func (ModelSourceUnreachable) Meta() Meta { return Meta{"model.source_unreachable", KindWarning} }

// ModelFileMismatch says that a file in the cache of the Hub's clients has not the content that its
// name promises. It is not used; a cache that can be written gets the right file.
type ModelFileMismatch struct {
	Model string `json:"model"`
	Path  string `json:"path" jsonschema:"of the file in the cache"`
}

// Meta implements [Data].
func (ModelFileMismatch) Meta() Meta { return Meta{"model.file_mismatch", KindWarning} }

// ModelCacheCopied says that files were copied from the cache of the Hub's clients, because Seer's own
// cache cannot have hard links to them.
type ModelCacheCopied struct {
	Model string `json:"model"`
	Dir   string `json:"dir" jsonschema:"of the cache"`
	Bytes int64  `json:"bytes" jsonschema:"of the copies"`
}

// Meta implements [Data].
func (ModelCacheCopied) Meta() Meta { return Meta{"model.cache_copied", KindWarning} }

// ModelDownloadStarted says that the machine downloads a model by itself.
type ModelDownloadStarted struct {
	Model string `json:"model"`
	Path  string `json:"path" jsonschema:"in the sandbox"`
	Files int    `json:"files" jsonschema:"how many"`
	Bytes int64  `json:"bytes" jsonschema:"of all files"`
}

// Meta implements [Data].
func (ModelDownloadStarted) Meta() Meta { return Meta{"model.download_started", KindStep} }

// ModelThroughHere says that a model goes through this computer, because the rented machine cannot
// download it.
type ModelThroughHere struct {
	Model  string `json:"model"`
	Reason string `json:"reason"`
}

// Meta implements [Data].
func (ModelThroughHere) Meta() Meta { return Meta{"model.through_here", KindWarning} }

// HiddenNameCommon says that the name of a hidden model has only common words, and is not
// searched for.
type HiddenNameCommon struct {
	Name string `json:"name"`
}

// Meta implements [Data].
func (HiddenNameCommon) Meta() Meta { return Meta{"model.hidden_name_common", KindWarning} }

// HiddenNameShown says that the name of a hidden model is also that of its architecture, which
// the agent sees.
type HiddenNameShown struct {
	Name string `json:"name"`
}

// Meta implements [Data].
func (HiddenNameShown) Meta() Meta { return Meta{"model.hidden_name_shown", KindWarning} }

// HiddenArchitecture lists words that the architecture of a hidden model shows to the agent.
type HiddenArchitecture struct {
	Words []string `json:"words"`
}

// Meta implements [Data].
func (HiddenArchitecture) Meta() Meta { return Meta{"model.hidden_architecture", KindStep} }

// HiddenValuesRemoved lists values of a hidden model's configuration that the agent does not
// see.
type HiddenValuesRemoved struct {
	Model  string   `json:"model"`
	Values []string `json:"values" jsonschema:"paths of the values"`
}

// Meta implements [Data].
func (HiddenValuesRemoved) Meta() Meta { return Meta{"model.hidden_values_removed", KindStep} }
