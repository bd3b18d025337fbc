package sdktest_test

// providerMutants names, for each defect, the checks that must catch it: patterns of
// path.Match, each for at least one of them.
func providerMutants() map[string][]string {
	once := []string{"create/once-again", "create/once-answer-lost", "create/once-at-the-same-time", "hostile/unknown-fields"}
	unsupported := []string{"create/unsupported"}
	return map[string][]string{
		"describe asks the network": {"describe/answers"}, "unknown feature": {"describe/sensible"},
		"unsorted offers": {"offers/sorted"}, "GPU names of its own": {"offers/gpu"}, "GPUs for everybody": {"offers/gpu"},
		"does not narrow": {"offers/narrow"}, "nothing fits is an error": {"offers/gpu", "offers/narrow"},
		"ignores options": {"create/unknown-option", "offers/unknown-option"},

		"creates twice": once, "looks, then creates": once, "fat cursor": {"create/gives-machine"}, "null cursor": {"create/gives-machine"},
		"panics at cursors": {"create/foreign-cursor"}, "loses the command's quotes": {"create/arrives"}, "no variables": {"create/arrives"},
		"no end": {"create/gives-machine", "list/finds"}, "any offer": {"create/asked-offer", "create/unknown-offer"}, "the cheapest, whatever was asked for": {"create/asked-offer"}, "insists on an offer": {"create/without-offer"}, "sold out is unavailable": {"create/no-capacity"},
		"one machine for an owner": {"cancel/returns", "list/finds", "observe/every-handle-once", "observe/one-request", "terminate/only-this"},
		"ignores disk_gb":          unsupported, "ignores ports": unsupported, "ignores image": unsupported, "ignores volumes": unsupported,
		"ignores mounts": unsupported, "ignores network": unsupported, "ignores isolation": unsupported,

		"observes one by one": {"observe/one-request"}, "observes one by one by query": {"observe/one-request"}, "no endpoint": {"observe/becomes-running"}, "bad endpoint": {"observe/becomes-running"}, "a route to everything": {"observe/becomes-running"}, "a route to nowhere": {"observe/becomes-running"},
		"unknown handles are left out": {"observe/every-handle-once"}, "unknown handles are errors": {"observe/every-handle-once"},
		"unknown handles start": {"observe/every-handle-once"}, "takes errors for ends": {"cancel/returns", "hostile/*"},

		"reads the first page": {"list/finds"}, "lists everybody's": {"list/only-the-owners"}, "prefix search": {"list/only-the-owners"}, "takes errors for nothing": {"cancel/returns", "hostile/*"},
		"lists the dead as alive": {"create/gives-machine", "create/once-again", "end/nothing-left"},

		"does not terminate": {"create/gives-machine", "create/once-again", "end/nothing-left"}, "terminates for sure": {"cancel/returns", "hostile/*"},
		"any handle": {"terminate/only-this"}, "copies twice": {"snapshot/once"},

		"checks any option": {"check/finds"}, "finds without a fix": {"check/finds"}, "finds in a state of its own": {"check/finds"},
		"finds nothing": {"check/finds"}, "checks by renting": {"check/finds"},
		"cleans machines": {"clean/spares"}, "cleans with a negative size": {"clean/spares"},

		"ignores cancellation": {"cancel/returns", "hostile/trickle", "hostile/unanswered"},
		"follows redirects":    {"end/no-secret-shown", "end/no-stray-request", "hostile/redirect-*"},
		"connection lost is internal": {"create/once-answer-lost", "hostile/answer-lost", "hostile/refused", "hostile/unanswered",
			"terminate/answer-lost"},
		"untyped errors":         {"cancel/returns", "create/once-answer-lost", "hostile/*", "terminate/answer-lost"},
		"takes junk for nothing": {"hostile/empty", "hostile/html", "hostile/huge", "hostile/malformed"},
		"strict answers":         {"hostile/unknown-fields"}, "malformed is invalid": {"hostile/empty", "hostile/html", "hostile/malformed", "hostile/wrong-type"},
		"429 is internal": {"hostile/retry-after-*", "hostile/status-429"}, "401 is internal": {"hostile/status-401"},
		"5xx is internal": {"hostile/status-50?", "terminate/answer-lost"},
		"no retry-after":  {"hostile/retry-after-*"}, "no retry-after date": {"hostile/retry-after-date"},
		"shows raw bodies": {"end/errors-one-line", "end/no-secret-shown"}, "shows its secret": {"end/no-secret-shown"},
		"empty messages": {"create/no-capacity", "end/errors-one-line", "hostile/retry-after-*"},
	}
}
