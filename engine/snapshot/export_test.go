package snapshot

// Nameless reports whether files in dir can be without a name until they are whole, which
// some file systems cannot do.
func Nameless(dir string) bool {
	f, err := openNameless(dir)
	if err != nil {
		return false
	}
	return f.Close() == nil
}
