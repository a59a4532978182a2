package sweep

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// readAll returns the blocks of text, joined with kind marks: w, l and v.
func readAll(t *testing.T, r *blockReader) (parts []string, lines []int64) {
	t.Helper()
	b := new(block)
	for seq := 0; r.next(b); seq++ {
		if b.err != nil {
			parts = append(parts, "error "+b.err.Error())
			continue
		}
		if b.seq != seq {
			t.Fatalf("seq %d, want %d", b.seq, seq)
		}
		parts = append(parts, "wlv"[b.kind:b.kind+1]+string(b.data))
		lines = append(lines, b.firstLine)
	}
	return parts, lines
}

// Blocks end at line ends, and a line longer than a block makes its block grow.
func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		text       string
		block, max int
		want       []string
		lines      []int64
	}{
		{"", 4, 9, nil, nil},
		{"a\nb\nc\n", 4, 9, []string{"wa\nb\n", "wc\n"}, []int64{1, 3}},
		{"a\nb", 4, 9, []string{"wa\n", "lb"}, []int64{1, 2}},
		{"a\nbb\ncccc\n", 4, 9, []string{"wa\n", "wbb\n", "wcccc\n"}, []int64{1, 2, 3}},
		{"123456789\nx\n", 4, 9, []string{"w123456789\n", "wx\n"}, []int64{1, 2}},
		{"123456789\r\nx\n", 4, 9, []string{"w123456789\r\n", "wx\n"}, []int64{1, 2}},
		{"12345678901234\nx\n", 4, 9, []string{"v12345678901", "v234\n", "wx\n"}, []int64{1, 1, 2}},
		{"a\n12345678901234", 4, 9, []string{"wa\n", "v12345678901", "v234"}, []int64{1, 2, 2}},
		{"\xef\xbb\xbfa\nb", 4, 9, []string{"v\xef\xbb\xbf", "wa\n", "lb"}, []int64{1, 1, 2}},
		{"\xef\xbb\xbf", 4, 9, []string{"v\xef\xbb\xbf"}, []int64{1}},
		{"a\n\xef\xbb\xbf\n", 4, 9, []string{"wa\n", "w\xef\xbb\xbf\n"}, []int64{1, 2}},
		{"\n\n\n", 4, 9, []string{"w\n\n\n"}, []int64{1}},
	} {
		for name, src := range map[string]io.Reader{
			"whole": strings.NewReader(c.text), "bytewise": iotest.OneByteReader(strings.NewReader(c.text)),
			"with EOF": iotest.DataErrReader(strings.NewReader(c.text)),
		} {
			r := &blockReader{src: src, blockBytes: c.block, maxLineBytes: int64(c.max)}
			parts, lines := readAll(t, r)
			if strings.Join(parts, "|") != strings.Join(c.want, "|") {
				t.Errorf("%s %q: blocks %q, want %q", name, c.text, parts, c.want)
			}
			for i := range lines {
				if lines[i] != c.lines[i] {
					t.Errorf("%s %q: block %d starts at line %d, want %d", name, c.text, i, lines[i], c.lines[i])
				}
			}
			if r.bytes != int64(len(c.text)) {
				t.Errorf("%s %q: %d bytes handed out", name, c.text, r.bytes)
			}
		}
	}
}

// A read error comes after the blocks that were read before it.
func TestBlocksReadError(t *testing.T) {
	for _, size := range []int{4, 100} {
		src := io.MultiReader(strings.NewReader("a\nb\nc"), iotest.ErrReader(errors.New("disk on fire")))
		parts, _ := readAll(t, &blockReader{src: src, blockBytes: size, maxLineBytes: 9})
		if got := strings.Join(parts, "|"); got != "wa\nb\n|error disk on fire" {
			t.Errorf("blocks %q", got)
		}
	}
	src := io.MultiReader(strings.NewReader("12345678901234"), iotest.ErrReader(errors.New("disk on fire")))
	parts, _ := readAll(t, &blockReader{src: src, blockBytes: 4, maxLineBytes: 9})
	if got := strings.Join(parts, "|"); got != "v12345678901|v234|error disk on fire" {
		t.Errorf("blocks of an overlong line %q", got)
	}
}

// A reader that neither reads nor ends is given up on.
func TestBlocksNoProgress(t *testing.T) {
	src := readFunc(func([]byte) (int, error) { return 0, nil })
	parts, _ := readAll(t, &blockReader{src: src, blockBytes: 4, maxLineBytes: 9})
	if len(parts) != 1 || parts[0] != "error "+io.ErrNoProgress.Error() {
		t.Errorf("blocks %q", parts)
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// Memory that a long line took is given back when the line has passed.
func TestBlocksShrink(t *testing.T) {
	text := strings.Repeat("x", 1<<20) + "\n" + strings.Repeat("short\n", 1000)
	r := &blockReader{src: strings.NewReader(text), blockBytes: 1 << 10, maxLineBytes: 1 << 30, admit: func(*block) []byte { return nil }}
	b := new(block)
	for r.next(b) {
		if got := cap(b.buf); b.firstLine > 1000 && got > 8<<10 {
			t.Fatalf("a block of short lines holds %d bytes", got)
		}
	}
}

// Every cut of the same stream holds the same bytes.
func FuzzBlocks(f *testing.F) {
	f.Add([]byte("a\nbb\r\n\xef\xbb\xbf\n\n"), uint8(3), uint8(5))
	f.Add([]byte("\xef\xbb\xbf0123456789\n"), uint8(1), uint8(4))
	f.Fuzz(func(t *testing.T, text []byte, size, limit uint8) {
		r := &blockReader{src: bytes.NewReader(text), blockBytes: max(3, int(size)), maxLineBytes: 1 + int64(limit)}
		b, joined := new(block), []byte{}
		for r.next(b) {
			if b.kind == wholeLines && b.data[len(b.data)-1] != '\n' {
				t.Fatalf("block %q does not end at a line end", b.data)
			}
			if want := int64(bytes.Count(joined, newline)) + 1; b.firstLine != want {
				t.Fatalf("block %q starts at line %d, want %d", b.data, b.firstLine, want)
			}
			joined = append(joined, b.data...)
		}
		if !bytes.Equal(joined, text) {
			t.Fatalf("blocks hold %q of %q", joined, text)
		}
	})
}
