// Package value reads and writes values as they travel between an agent and a
// sandbox: JSON, with the raw buffers of arrays, bytes and images behind it; see
// docs/protocol.md, section 4.
package value
