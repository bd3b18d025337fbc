package egress

import "github.com/seer-engine/seer/internal/lazyregexp"

// credentialForm matches names that are meant for credentials: some words anywhere in the
// name, others only where they stand alone, or at its end (not MONKEY, not KEY_BINDINGS).
var credentialForm = lazyregexp.New(`(?i)token|secret|passw|passphrase|credential|private|cookie|webhook` +
	`|(?:api|access|auth)[-_.]?key` +
	`|(?:^|[^a-z])dsn(?:[^a-z]|$)` +
	`|(?:^|[^a-z])(?:keys?|pat|auth|pwd|jwt)[0-9]*$`)

// camel is where a word of camelCase begins.
var camel = lazyregexp.New(`([a-z0-9])([A-Z])`)

// CredentialName reports whether a variable, or a key of a profile, is named like a
// credential. It is the one rule for this: a plugin reads its settings, and may not read
// what is named so.
func CredentialName(name string) bool {
	return credentialForm().MatchString(camel().ReplaceAllString(name, "${1}_$2"))
}
