package record

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"strings"
	"testing"
)

var benchStore = flag.String("store", "", "a JSONL file to measure instead of the generated lines")

// realisticLines are about 600 bytes each: text with escapes and characters beyond ASCII, tags, nested metadata, names
// in varied order.
func realisticLines(count int) (lines [][]byte) {
	rng := rand.New(rand.NewSource(1))
	words := strings.Fields(`user prefers dark mode coffee in the morning project deadline moved to friday café naïve 東京 "quoted"
		back\slash deploy failed retry budget invoice signed likes hiking dislikes meetings server region schema migration`)
	pick := func() string { return words[rng.Intn(len(words))] }
	for i := range count {
		text := make([]string, 18+rng.Intn(42))
		for k := range text {
			text[k] = pick()
		}
		content, _ := json.Marshal(strings.Join(text, " "))
		if rng.Intn(3) == 0 {
			content = asciiOnly(content)
		}
		tags, _ := json.Marshal([]string{pick(), pick(), pick()})
		at := int64(1790000000000) - rng.Int63n(400*86400000)
		parts := []string{
			fmt.Sprintf(`"id": "mem-%09d"`, i), fmt.Sprintf(`"last_accessed_ms": %d`, at),
			fmt.Sprintf(`"importance": %.6g`, rng.Float64()), `"content": ` + string(content), `"tags": ` + string(tags),
			fmt.Sprintf(`"access_count": %d`, rng.Intn(41)), fmt.Sprintf(`"created_at_ms": %d`, at-rng.Int63n(7776000000)),
			fmt.Sprintf(`"metadata": {"source": "chat", "session": {"id": "s%d", "turn": %d}, "last_accessed_ms": "not this one", "score": %v}`,
				rng.Intn(10000), rng.Intn(400), rng.Float64()),
		}
		rng.Shuffle(len(parts), func(i, k int) { parts[i], parts[k] = parts[k], parts[i] })
		lines = append(lines, []byte("{"+strings.Join(parts, ", ")+"}"))
	}
	return lines
}

// asciiOnly writes characters beyond ASCII as escapes.
func asciiOnly(text []byte) []byte {
	var out []byte
	for _, r := range string(text) {
		if r < 0x80 {
			out = append(out, byte(r))
		} else {
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// minimalLines are about 75 bytes each: the three fields alone.
func minimalLines(count int) (lines [][]byte) {
	rng := rand.New(rand.NewSource(1))
	for i := range count {
		lines = append(lines, fmt.Appendf(nil, `{"id": "mem-%09d", "last_accessed_ms": %d, "importance": %.6g}`,
			i, 1790000000000-rng.Int63n(400*86400000), rng.Float64()))
	}
	return lines
}

func BenchmarkScan(b *testing.B) {
	if *benchStore != "" {
		store, err := os.ReadFile(*benchStore)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("store", func(b *testing.B) { benchmarkScan(b, bytes.Split(bytes.TrimSuffix(store, []byte("\n")), []byte("\n"))) })
		return
	}
	b.Run("realistic", func(b *testing.B) { benchmarkScan(b, realisticLines(20_000)) })
	b.Run("minimal", func(b *testing.B) { benchmarkScan(b, minimalLines(100_000)) })
}

// benchmarkScan reads all lines each time, so that no branch predictor learns them by heart.
func benchmarkScan(b *testing.B, lines [][]byte) {
	s, err := NewScanner(Layout{NeedImportance: true})
	if err != nil {
		b.Fatal(err)
	}
	size := int64(0)
	for _, line := range lines {
		size += int64(len(line)) + 1
	}
	b.SetBytes(size)
	var rec Record
	for b.Loop() {
		for _, line := range lines {
			if !s.Scan(line, &rec) {
				b.Fatalf("undecided: %s", line)
			}
		}
	}
}

func BenchmarkParse(b *testing.B) {
	s, err := NewScanner(Layout{NeedImportance: true})
	if err != nil {
		b.Fatal(err)
	}
	lines := realisticLines(1000)
	size := int64(0)
	for _, line := range lines {
		size += int64(len(line)) + 1
	}
	b.SetBytes(size)
	var rec Record
	for b.Loop() {
		for _, line := range lines {
			if err := s.Parse(line, &rec); err != nil {
				b.Fatal(err)
			}
		}
	}
}
