// Package pyjson reads what Python takes for JSON: it also writes the bare words NaN,
// Infinity and -Infinity, which no other reader of JSON knows.
package pyjson

import "bytes"

// numbers stand for the words while JSON is read: nobody writes them otherwise.
var numbers = [...]struct{ word, number string }{
	{"NaN", "-0.270182818284590452e-314159265"},
	{"Infinity", "-0.370182818284590452e-314159265"},
	{"-Infinity", "-0.470182818284590452e-314159265"},
}

// Strict is JSON as everybody reads it: each of Python's words is a number instead, and
// texts are as they were. Back gives the words back to what was written again from it
// with its numbers as they are there ([encoding/json.Number]).
func Strict(data []byte) (strict []byte, back func([]byte) []byte) {
	same := func(data []byte) []byte { return data }
	forth, home := map[string]string{}, map[string]string{}
	for _, n := range numbers {
		if bytes.Contains(data, []byte(n.number)) {
			return data, same
		}
		forth[n.word], home[n.number] = n.number, n.word
	}
	if !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) {
		return data, same
	}
	return swap(data, forth), func(data []byte) []byte { return swap(data, home) }
}

// swap changes words that stand outside texts.
func swap(data []byte, words map[string]string) []byte {
	out := make([]byte, 0, len(data)+64)
	for len(data) > 0 {
		n := 1
		switch {
		case data[0] == '"':
			n = text(data)
		case inWord(data[0]):
			for n < len(data) && inWord(data[n]) {
				n++
			}
			if other, known := words[string(data[:n])]; known {
				out, data = append(out, other...), data[n:]
				continue
			}
		}
		out, data = append(out, data[:n]...), data[n:]
	}
	return out
}

// text is the length of the text at the beginning of data, with its quotes.
func text(data []byte) int {
	for i := 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

// inWord tells what numbers and bare words are made of.
func inWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == '_' || c >= 0x80
}
