package seccomp

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// action is what the kernel does with a system call.
type action uint32

const allow action = unix.SECCOMP_RET_ALLOW

func refuse(e unix.Errno) action { return unix.SECCOMP_RET_ERRNO | action(e) }

// operation compares an argument with a value.
type operation int

const (
	equal  operation = iota // all 64 bits
	noneOf                  // no bit of the value is set
	// The kernel reads only the lower half of many arguments. What refuses a value must
	// do so, too: otherwise one with another upper half passes.
	lowEqual
	lowAnyOf // a bit of the value is set
)

type condition struct {
	argument uint32
	operation
	value uint64
}

// clause is an action for a system call whose arguments meet all conditions.
type clause struct {
	action
	conditions []condition
}

// rules are clauses for each system call; the first that fits decides.
type rules struct {
	info    *arch.Info
	order   []uint32 // numbers of system calls, as they came
	clauses map[uint32][]clause
}

func newRules(info *arch.Info) *rules { return &rules{info: info, clauses: map[uint32][]clause{}} }

// add adds a clause for a system call, unless the architecture lacks it or an earlier
// clause without conditions has decided already.
func (r *rules) add(a action, name string, conditions ...condition) {
	number, ok := r.info.SyscallNames[name]
	if !ok {
		return
	}
	nr := uint32(number)
	have := r.clauses[nr]
	if len(have) == 0 {
		r.order = append(r.order, nr)
	} else if len(have[len(have)-1].conditions) == 0 {
		return
	}
	r.clauses[nr] = append(have, clause{a, conditions})
}

func (r *rules) names(a action, names ...string) {
	for _, name := range names {
		r.add(a, name)
	}
}

// The places in struct seccomp_data.
const (
	atNumber    = 0
	atArch      = 4
	atArguments = 16
	x32         = 0x40000000 // is set in the numbers of a further interface of amd64
)

// compile makes the program. What no clause decides is others; other interfaces of the
// kernel than the native one, whose numbers mean something else, are refused.
func (r *rules) compile(others action) (Program, error) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return nil, fmt.Errorf("make the system call filter: it is not written for %s; use amd64 or arm64", runtime.GOARCH)
	}
	out := []bpf.Instruction{
		bpf.LoadAbsolute{Off: atArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(r.info.ID), SkipTrue: 1},
		bpf.RetConstant{Val: uint32(refuse(unix.EPERM))},
		bpf.LoadAbsolute{Off: atNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32, SkipTrue: 1},
		bpf.RetConstant{Val: uint32(refuse(unix.ENOSYS))},
	}
	plain := map[action][]uint32{}
	var actions []action
	for _, nr := range r.order { // those first about which the kernel asks every time
		if c := r.clauses[nr]; len(c[0].conditions) > 0 {
			body := inspect(c, others)
			if len(body) > 255 {
				return nil, fmt.Errorf("make the system call filter: the rule of system call %d is too long", nr)
			}
			out = append(out, bpf.JumpIf{Cond: bpf.JumpEqual, Val: nr, SkipFalse: uint8(len(body))})
			out = append(out, body...)
			continue
		}
		a := r.clauses[nr][0].action
		if plain[a] == nil {
			actions = append(actions, a)
		}
		plain[a] = append(plain[a], nr)
	}
	for _, a := range actions {
		out = append(out, list(plain[a], a)...)
	}
	program, err := bpf.Assemble(append(out, bpf.RetConstant{Val: uint32(others)}))
	if err != nil {
		return nil, fmt.Errorf("make the system call filter: %w", err)
	}
	return program, nil
}

// list compares the number with each of some, and goes on if it is none of them.
func list(numbers []uint32, a action) []bpf.Instruction {
	var out []bpf.Instruction
	for some := range slices.Chunk(numbers, 200) { // a jump reaches 255 instructions
		for i, nr := range some {
			out = append(out, bpf.JumpIf{Cond: bpf.JumpEqual, Val: nr, SkipTrue: uint8(len(some) - i)})
		}
		out = append(out, bpf.Jump{Skip: 1}, bpf.RetConstant{Val: uint32(a)})
	}
	return out
}

// inspect decides by the arguments. It always returns, because it loses the number.
func inspect(clauses []clause, others action) []bpf.Instruction {
	var out []bpf.Instruction
	for _, c := range clauses {
		var body []bpf.Instruction
		for _, cond := range c.conditions {
			body = append(body, cond.instructions()...)
		}
		body = append(body, bpf.RetConstant{Val: uint32(c.action)})
		for i, in := range body { // what is not met leads to the next clause
			if jump, ok := in.(bpf.JumpIf); ok {
				rest := uint8(len(body) - 1 - i)
				jump.SkipTrue, jump.SkipFalse = jump.SkipTrue*rest, jump.SkipFalse*rest
				body[i] = jump
			}
		}
		out = append(out, body...)
	}
	return append(out, bpf.RetConstant{Val: uint32(others)})
}

// instructions go on if the condition is met; a skip of 1 stands for the way out.
func (c condition) instructions() []bpf.Instruction {
	low := bpf.LoadAbsolute{Off: atArguments + 8*c.argument, Size: 4} // both architectures are little-endian
	high := bpf.LoadAbsolute{Off: low.Off + 4, Size: 4}
	lowValue, highValue := uint32(c.value), uint32(c.value>>32)
	switch c.operation {
	case equal:
		return []bpf.Instruction{
			high, bpf.JumpIf{Cond: bpf.JumpEqual, Val: highValue, SkipFalse: 1},
			low, bpf.JumpIf{Cond: bpf.JumpEqual, Val: lowValue, SkipFalse: 1},
		}
	case noneOf:
		return []bpf.Instruction{
			high, bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: highValue, SkipTrue: 1},
			low, bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: lowValue, SkipTrue: 1},
		}
	case lowEqual:
		return []bpf.Instruction{low, bpf.JumpIf{Cond: bpf.JumpEqual, Val: lowValue, SkipFalse: 1}}
	default:
		return []bpf.Instruction{low, bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: lowValue, SkipFalse: 1}}
	}
}
