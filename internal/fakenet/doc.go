// Package fakenet runs tests on a computer that is not this one: in a network namespace
// with a loopback, addresses and name server of its own, and an Internet behind it.
package fakenet
