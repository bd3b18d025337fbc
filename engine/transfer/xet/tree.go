package xet

import (
	"encoding/binary"
	"fmt"
)

// Node is a hash and how many raw bytes lie below it: a chunk, or a node of the tree above
// the chunks.
type Node struct {
	Hash Hash
	Size int64
}

const (
	minGroup  = 3 // children of a node, unless they are the last ones
	maxGroup  = 9
	groupMean = 4
)

// Tree computes the hash of a xorb or a file from the chunks in it, in their order. It keeps
// a few nodes for each level, however many chunks there are. The zero value is a tree without
// chunks.
type Tree struct {
	levels [][]Node // from the chunks upwards: the nodes that have no parent yet
}

// Add adds the next chunk.
func (t *Tree) Add(chunk Node) { t.add(0, chunk) }

func (t *Tree) add(level int, n Node) {
	if level == len(t.levels) {
		t.levels = append(t.levels, make([]Node, 0, maxGroup))
	}
	group := append(t.levels[level], n)
	if len(group) == maxGroup || len(group) >= minGroup && endsGroup(n.Hash) {
		t.add(level+1, parent(group))
		group = group[:0]
	}
	t.levels[level] = group
}

// endsGroup is true for one hash of four, by the last of its four numbers.
func endsGroup(h Hash) bool { return binary.LittleEndian.Uint64(h[24:])%groupMean == 0 }

func parent(children []Node) Node {
	var text []byte
	var size int64
	for _, c := range children {
		text = fmt.Appendf(text, "%s : %d\n", c.Hash, c.Size)
		size += c.Size
	}
	return Node{keyed(&nodeKey, text), size}
}

// Size is the sum of the chunks' raw bytes.
func (t *Tree) Size() int64 {
	var size int64
	for _, level := range t.levels {
		for _, n := range level {
			size += n.Size
		}
	}
	return size
}

// Xorb is the hash of a xorb with these chunks. More chunks can be added afterwards.
func (t *Tree) Xorb() Hash {
	var below []Node // of the level above: what the unfinished groups below become
	for level, nodes := range t.levels {
		nodes = append(nodes[:len(nodes):len(nodes)], below...)
		top := level == len(t.levels)-1
		if top && len(nodes) == 1 {
			return nodes[0].Hash
		}
		below = nil
		if len(nodes) > 0 {
			below = []Node{parent(nodes)}
		}
	}
	if len(below) == 0 {
		return Hash{}
	}
	return below[0].Hash
}

// File is the hash of a file with these chunks.
func (t *Tree) File() Hash {
	if len(t.levels) == 0 {
		return Hash{}
	}
	root := t.Xorb()
	return keyed(&fileKey, root[:])
}
