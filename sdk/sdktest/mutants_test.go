package sdktest_test

// providerMutants names, for each defect, the checks that must catch it.
func providerMutants() map[string][]string {
	return map[string][]string{
		"describe asks the network": nil, "unknown feature": nil, "unsorted offers": nil, "GPU names of its own": nil, "GPUs for everybody": nil,
		"does not narrow": nil, "nothing fits is an error": nil, "ignores options": nil,
		"creates twice": nil, "looks, then creates": nil, "fat cursor": nil, "null cursor": nil, "panics at cursors": nil, "loses the command's quotes": nil,
		"no variables": nil, "no end": nil, "one machine for an owner": nil, "any offer": nil, "sold out is unavailable": nil,
		"ignores disk_gb": nil, "ignores ports": nil, "ignores image": nil, "ignores volumes": nil, "ignores mounts": nil, "ignores network": nil, "ignores isolation": nil,
		"observes one by one": nil, "takes errors for ends": nil, "no endpoint": nil, "bad endpoint": nil, "unknown handles are left out": nil,
		"unknown handles are errors": nil, "unknown handles start": nil,
		"lists everybody's": nil, "prefix search": nil, "claims the owner": nil, "lists the dead as alive": nil, "takes errors for nothing": nil,
		"does not terminate": nil, "unknown is an error": nil, "terminates for sure": nil, "any handle": nil, "ends by prefix": nil, "copies twice": nil,
		"ignores cancellation": nil, "follows redirects": nil, "connection lost is internal": nil, "untyped errors": nil, "takes half answers": nil,
		"takes junk for nothing": nil, "strict answers": nil, "malformed is invalid": nil, "429 is internal": nil, "401 is internal": nil, "5xx is internal": nil,
		"no retry-after": nil, "no retry-after date": nil, "shows raw bodies": nil, "empty messages": nil, "shows its secret": nil,
	}
}
