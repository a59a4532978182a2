package record

import (
	"bytes"
	"fmt"
	"iter"
)

// value is a syntactically valid JSON value at the start of the slice; what follows it in the line may still be there.
type value []byte

// kind names what a value is, as texts say it.
type kind string

const (
	anObject kind = "an object"
	anArray  kind = "an array"
	aString  kind = "a string"
	aNumber  kind = "a number"
	aBoolean kind = "a boolean"
	null     kind = "null"
)

func (v value) kind() kind {
	switch v[0] {
	case '{':
		return anObject
	case '[':
		return anArray
	case '"':
		return aString
	case 't', 'f':
		return aBoolean
	case 'n':
		return null
	}
	return aNumber
}

// raw returns what stands between the quotes of a string.
func (v value) raw() []byte { return v[1 : v.end()-1] }

// text returns a string with its escapes resolved; see appendUnescaped for lone surrogates.
func (v value) text() []byte { return appendUnescaped(nil, v.raw()) }

// literal returns a number as it is written.
func (v value) literal() []byte { return v[:v.end()] }

// end returns how long the value is.
func (v value) end() int {
	switch v[0] {
	case '{', '[':
		return v.bracketEnd()
	case '"':
		return v.stringEnd()
	}
	if end := bytes.IndexAny(v, ",]} \t\r\n"); end >= 0 {
		return end
	}
	return len(v)
}

func (v value) stringEnd() int {
	i := 1
	for v[i] != '"' {
		if v[i] == '\\' {
			i++
		}
		i++
	}
	return i + 1
}

func (v value) bracketEnd() int {
	depth := 0
	for i := 0; ; i++ {
		switch v[i] {
		case '"':
			i += v[i:].stringEnd() - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
	}
}

// members yields the members of an object in order, names unescaped.
func (v value) members() iter.Seq2[[]byte, value] {
	return func(yield func([]byte, value) bool) {
		i := skipSpace(v, 1)
		for v[i] != '}' {
			name := v[i:]
			i = skipSpace(v, i+name.stringEnd())
			i = skipSpace(v, i+1) // past the colon
			member := v[i:]
			if !yield(name.text(), member) {
				return
			}
			i = skipSpace(v, i+member.end())
			if v[i] == ',' {
				i = skipSpace(v, i+1)
			}
		}
	}
}

// get returns the first member of that name and how many there are.
func (v value) get(name string) (first value, count int) {
	for n, member := range v.members() {
		if string(n) == name {
			if count == 0 {
				first = member
			}
			count++
		}
	}
	return first, count
}

// checkRepeats refuses a path of which any level, from the outermost on, occurs twice.
func (p path) checkRepeats(object value) error {
	for i, name := range p {
		if object.kind() != anObject {
			return nil // find says so
		}
		member, count := object.get(name)
		if count > 1 {
			return fmt.Errorf("%s occurs twice", p[:i+1])
		}
		if count == 0 {
			return nil
		}
		object = member
	}
	return nil
}

// find returns the value that the path leads to.
func (p path) find(object value) (value, error) {
	for i, name := range p {
		if object.kind() != anObject {
			return nil, fmt.Errorf("%s must be an object, got %s", p[:i], object.kind())
		}
		member, count := object.get(name)
		if count == 0 {
			return nil, fmt.Errorf("%s is missing", p)
		}
		object = member
	}
	return object, nil
}
