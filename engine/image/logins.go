package image

import "sync"

// Logins are the images that may be fetched with the user's login at their registry. Code of
// an experiment reads its image, so the user confirms that. All others are fetched without a
// login. The zero value has none. It is safe for concurrent use.
type Logins struct {
	confirmed sync.Map // references
}

// Confirm allows the login for an image.
func (l *Logins) Confirm(ref string) { l.confirmed.Store(ref, true) }

// Allowed reports whether the login may be used for an image.
func (l *Logins) Allowed(ref string) bool {
	_, ok := l.confirmed.Load(ref)
	return ok
}
