package selftest

import "testing"

// The digest is the one in the documentation, on every machine.
func TestDigest(t *testing.T) {
	const want = "1698457d1d7a4bda4fa4795dafbc8f7983361b38b679b754a05884f5ca790d4f"
	if got := Digest(); got != want {
		t.Errorf("digest is %s, want %s", got, want)
	}
}

// The words of the stream are those of the recipe.
func TestSplitmix(t *testing.T) {
	var s splitmix
	for i, want := range []uint64{0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F} {
		if got := s.next(); got != want {
			t.Errorf("word %d is %#x, want %#x", i, got, want)
		}
	}
}

// The inputs reach every sort of score: one, ordinary, subnormal and zero.
func TestSpread(t *testing.T) {
	const smallestNormal = 0x1p-1022
	var s splitmix
	var ones, ordinary, subnormal, zero, small int
	for range inputs {
		switch score := s.exponential(); {
		case score == 1:
			ones++
		case score >= smallestNormal:
			ordinary++
		case score > 0:
			subnormal++
		default:
			zero++
		}
	}
	for range inputs {
		if score := s.powerLaw(); score > 0 && score < 1e-30 {
			small++
		}
	}
	if ones < 50 || ordinary < inputs/2 || subnormal < 100 || zero < 100 || small < 100 {
		t.Errorf("%d ones, %d ordinary, %d subnormal, %d zero, %d small", ones, ordinary, subnormal, zero, small)
	}
}
