// Package tartree packs folders into tar streams and unpacks them again. Both ends of a
// sandbox use it: a stream comes from where nobody is trusted, so nothing is written outside
// the folder that it is unpacked into.
package tartree
