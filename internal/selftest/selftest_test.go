package selftest

import (
	"strings"
	"testing"

	"github.com/iamfaham/recolva/internal/conformance"
)

// This build computes the digest that every build has to.
func TestDigest(t *testing.T) {
	want, err := conformance.Read("models/selftest.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got := Digest(); got != strings.TrimSpace(string(want)) {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The generator gives the words of its published form from the state 1234567.
func TestSplitmix64(t *testing.T) {
	s := splitmix64(1234567)
	for _, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423} {
		if got := s.next(); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
}

// The scores are worth a digest: most are normal numbers that differ, some are
// subnormal, some 0.
func TestScores(t *testing.T) {
	var random splitmix64
	normal, subnormal, zero := 0, 0, 0
	seen := map[float64]bool{}
	for range rounds {
		for _, x := range []float64{halfLife(random.next), power(random.next)} {
			seen[x] = true
			switch {
			case x == 0:
				zero++
			case x < 0x1p-1022:
				subnormal++
			default:
				normal++
			}
		}
	}
	if normal < 150_000 || subnormal < 1000 || zero < 1000 || len(seen) < 150_000 {
		t.Errorf("%d normal, %d subnormal, %d zero, %d different", normal, subnormal, zero, len(seen))
	}
}
