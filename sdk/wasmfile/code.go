package wasmfile

import (
	"errors"
	"fmt"
	"math"
)

const sectionCode = 10

// Complexity is what decides how much time and memory a compiler takes for a function,
// which grows with the square of its branches.
type Complexity struct {
	Branches int // blocks, loops, and the targets of branches
	Loops    int // of them
	Locals   int // that it declares
	Bytes    int // of its body
}

// Work is what a compiler has to keep and to look through for each branch. A loop is
// dearer than another branch.
func (c Complexity) Work() int { return (c.Branches + 16*c.Loops) * (c.Locals + 1) }

// Most is the greatest of each that some function of a module has. A module with an
// instruction that is not of WebAssembly 2 is refused.
func Most(b []byte) (Complexity, error) {
	var most Complexity
	err := eachFunction(b, func(c Complexity) error {
		most.Branches, most.Loops = max(most.Branches, c.Branches), max(most.Loops, c.Loops)
		most.Locals, most.Bytes = max(most.Locals, c.Locals), max(most.Bytes, c.Bytes)
		return nil
	})
	return most, err
}

// LimitFunctions refuses a module with a function that is more complex than most, or
// needs more work.
func LimitFunctions(b []byte, most Complexity, work int) error {
	n := 0
	return eachFunction(b, func(c Complexity) error {
		n++
		switch {
		case c.Branches > most.Branches:
			return fmt.Errorf("function %d has %d branches, where %d are allowed", n, c.Branches, most.Branches)
		case c.Loops > most.Loops:
			return fmt.Errorf("function %d has %d loops, where %d are allowed", n, c.Loops, most.Loops)
		case c.Locals > most.Locals:
			return fmt.Errorf("function %d has %d locals, where %d are allowed", n, c.Locals, most.Locals)
		case c.Bytes > most.Bytes:
			return fmt.Errorf("function %d has %d bytes, where %d are allowed", n, c.Bytes, most.Bytes)
		case c.Work() > work:
			return fmt.Errorf("function %d has too many locals (%d) for its %d branches and %d loops", n, c.Locals, c.Branches, c.Loops)
		}
		return nil
	})
}

func eachFunction(b []byte, each func(Complexity) error) error {
	if err := checkHeader(b); err != nil {
		return err
	}
	r := reader{b: b[len(header):]}
	for len(r.b) > 0 && r.err == nil {
		id, body := r.byte(), r.bytes()
		if id != sectionCode {
			continue
		}
		code := reader{b: body}
		for range code.u32() {
			function := code.bytes()
			if code.err != nil {
				return code.err
			}
			c, err := complexity(function)
			if err != nil {
				return err
			}
			if err := each(c); err != nil {
				return err
			}
		}
	}
	return r.err
}

func complexity(body []byte) (Complexity, error) {
	c := Complexity{Bytes: len(body)}
	r := reader{b: body}
	for range r.u32() {
		n := int(r.u32())
		r.byte() // the type
		switch c.Locals += n; {
		case r.err != nil:
			return c, r.err
		case c.Locals > math.MaxInt32:
			return c, errors.New("a function with too many locals")
		}
	}
	for len(r.b) > 0 && r.err == nil {
		if r.b[0] == 0x03 {
			c.Loops++
		}
		n, err := r.instruction()
		if err != nil {
			return c, err
		}
		c.Branches += n
	}
	return c, r.err
}

// instruction passes over one and returns how many branches it has.
func (r *reader) instruction() (branches int, err error) {
	switch op := r.byte(); {
	case op >= 0x02 && op <= 0x04: // block, loop, if
		r.leb()
		return 1, nil
	case op == 0x05: // else
		return 1, nil
	case op == 0x0c || op == 0x0d: // br, br_if
		r.leb()
		return 1, nil
	case op == 0x0e: // br_table
		n := r.u32()
		for i := uint32(0); i <= n && r.err == nil; i++ {
			r.leb()
		}
		return int(n) + 1, nil
	case op == 0x10, op >= 0x20 && op <= 0x26, op == 0xd0, op == 0xd2, op >= 0x3f && op <= 0x42: // one number
		r.leb()
	case op == 0x11, op >= 0x28 && op <= 0x3e: // two
		r.leb()
		r.leb()
	case op == 0x1c: // select with types
		r.skip(int(r.u32()))
	case op == 0x43:
		r.skip(4)
	case op == 0x44:
		r.skip(8)
	case op == 0xfc:
		return 0, r.prefixed()
	case op == 0xfd:
		r.vector()
	case op <= 0x01, op == 0x0b, op == 0x0f, op == 0x1a, op == 0x1b, op >= 0x45 && op <= 0xc4, op == 0xd1: // nothing follows
	default:
		return 0, fmt.Errorf("the instruction %#02x is not of WebAssembly 2", op)
	}
	return 0, nil
}

// prefixed passes over what follows 0xfc.
func (r *reader) prefixed() error {
	switch sub := r.u32(); {
	case sub <= 7:
	case sub == 8 || sub == 10 || sub == 12 || sub == 14:
		r.leb()
		r.leb()
	case sub <= 17:
		r.leb()
	default:
		return errors.New("an instruction that is not of WebAssembly 2")
	}
	return nil
}

// vector passes over what follows 0xfd.
func (r *reader) vector() {
	switch sub := r.u32(); {
	case sub <= 11 || sub == 92 || sub == 93: // loads and stores
		r.leb()
		r.leb()
	case sub == 12 || sub == 13:
		r.skip(16)
	case sub >= 21 && sub <= 34: // lanes
		r.skip(1)
	case sub >= 84 && sub <= 91:
		r.leb()
		r.leb()
		r.skip(1)
	}
}

// leb passes over a number of up to 64 bits.
func (r *reader) leb() {
	for range 10 {
		if r.byte() < 0x80 {
			return
		}
	}
	r.fail(errors.New("a number that is too long"))
}

func (r *reader) skip(n int) {
	if n < 0 || n > len(r.b) {
		r.fail(errors.New("it ends in the middle of an instruction"))
		return
	}
	r.b = r.b[n:]
}
