// Package acceptance holds tests of the whole product as its users meet it: the
// installed program, real plugins, real isolation, and no knowledge of the
// inside. docs/testing.md lists what is tested where.
package acceptance
