package decay

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// precision is the number of fraction bits of the exact values in these tests.
const precision = 320

// bigOf returns the integer hi·2^64 + lo.
func bigOf(v fixed) *big.Int {
	x := new(big.Int).SetUint64(v.hi)
	return x.Add(x.Lsh(x, 64), new(big.Int).SetUint64(v.lo))
}

// upper returns floor(x·2^(bits-precision)), for comparison with truncated
// constants.
func upper(x *big.Int, bits uint) *big.Int { return new(big.Int).Rsh(x, precision-bits) }

// The constants of the series are the values that their comments say, truncated.
func TestConstants(t *testing.T) {
	ln := bigLn2(precision)
	one := new(big.Int).Lsh(big.NewInt(1), precision)
	power := func(k uint) *big.Int { // (ln 2)^k / k!
		x := new(big.Int).Set(one)
		for i := range k {
			x.Rsh(x.Mul(x, ln), precision)
			x.Quo(x, big.NewInt(int64(i+1)))
		}
		return x
	}
	inverse := func(k int64) *big.Int { // 1 / (k ln 2)
		x := new(big.Int).Lsh(one, precision)
		return x.Quo(x, new(big.Int).Mul(ln, big.NewInt(k)))
	}
	for _, c := range []struct {
		name      string
		got, want *big.Int
	}{
		{"ln2", bigOf(ln2), upper(ln, 128)},
		{"halfInv", bigOf(halfInv), upper(inverse(2), 128)},
		{"exp2c", new(big.Int).SetUint64(exp2c), upper(power(2), 64)},
		{"exp3c", new(big.Int).SetUint64(exp3c), upper(power(3), 64)},
		{"exp4c", new(big.Int).SetUint64(exp4c), upper(power(4), 64)},
		{"exp5c", new(big.Int).SetUint64(exp5c), upper(power(5), 64)},
		{"log2c", new(big.Int).SetUint64(log2c), upper(inverse(2), 64)},
		{"log3c", new(big.Int).SetUint64(log3c), upper(inverse(3), 64)},
		{"log4c", new(big.Int).SetUint64(log4c), upper(inverse(4), 64)},
		{"log5c", new(big.Int).SetUint64(log5c), upper(inverse(5), 64)},
	} {
		if c.got.Cmp(c.want) != 0 {
			t.Errorf("%s is %#x, want %#x", c.name, c.got, c.want)
		}
	}
}

// Every entry of the tables is the power of two that it stands for, truncated to
// 128 bits, and every guess is the last one that does not exceed the logarithm.
func TestTables(t *testing.T) {
	check := func(name string, entry fixed, numerator, denominator int64) {
		x := new(big.Int).Lsh(big.NewInt(numerator), precision)
		x.Quo(x, big.NewInt(denominator))
		if want := upper(bigExp2neg(x, precision), 128); bigOf(entry).Cmp(want) != 0 {
			t.Errorf("%s[%d] is %#x, want %#x", name, numerator, bigOf(entry), want)
		}
	}
	for i := int64(1); i < 128; i++ {
		check("coarse", coarse[i], i, 128)
	}
	for j := int64(1); j < 256; j++ {
		check("fine", fine[j], j, 16384)
	}
	for i, g := range guess {
		log := bigLog2(big.NewInt(256+int64(i)), big.NewInt(256), precision)
		if want := upper(log, 7).Int64(); int64(g) != want {
			t.Errorf("guess[%d] is %d, want %d", i, g, want)
		}
	}
}

// worst keeps the greatest difference seen, in units of 2^-precision.
type worst struct{ big.Int }

func (w *worst) see(got, want *big.Int) {
	if d := new(big.Int).Sub(got, want); d.CmpAbs(&w.Int) > 0 {
		w.Abs(d)
	}
}

func (w *worst) mustBeBelow(t *testing.T, bits uint) {
	t.Helper()
	if limit := new(big.Int).Lsh(big.NewInt(1), precision-bits); w.Cmp(limit) >= 0 {
		t.Errorf("the error reaches 2^%d, which is not below 2^-%d", w.BitLen()-precision, bits)
	}
	if w.Sign() == 0 {
		t.Error("no error was seen at all: the test compares nothing")
	}
}

// The error of exp2neg is below 2^-89, at the edges of its tables too.
func TestExp2negBound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var w worst
	see := func(f fixed) {
		want := bigExp2neg(new(big.Int).Lsh(bigOf(f), precision-128), precision)
		w.see(new(big.Int).Lsh(bigOf(exp2neg(f)), precision-128), want)
	}
	for range 5000 {
		see(fixed{random.Uint64(), random.Uint64()})
	}
	for i := range uint64(128) {
		edge := fixed{i << 57, 0}
		see(edge)
		see(edge.minus(fixed{0, 1}))
		see(fixed{i<<57 | i<<50 | 1<<50 - 1, ^uint64(0)})
	}
	w.mustBeBelow(t, 89)
}

// The error of log2 is below 2^-88, at the edges of its tables and for numbers
// that need 65 bits too.
func TestLog2Bound(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var w worst
	one := big.NewInt(1)
	see := func(carry, n uint64) {
		if carry == 0 && n == 0 {
			return
		}
		want := bigLog2(bigOf(fixed{carry, n}), one, precision)
		w.see(new(big.Int).Lsh(bigOf(fixed(log2(carry, n))), precision-121), want)
	}
	for range 3000 {
		see(0, random.Uint64()>>(random.Uint64()%64))
		see(1, random.Uint64())
	}
	for n := range uint64(300) {
		see(0, n)
		see(0, -n-1)
		see(1, n)
		see(1, -n-1)
	}
	for i := range uint64(256) { // where the guess changes
		for _, n := range []uint64{i << 56, i<<56 - 1, i<<56 + 1} {
			see(1, n)
			see(0, n>>1|1<<63)
		}
	}
	for _, power := range coarse[1:128] { // next to 2^(1 - i/128), where 1+z is near 1
		n := power.hi << 1
		for _, n := range []uint64{n - 2, n - 1, n, n + 1, n + 2} {
			see(1, n)
		}
	}
	for _, power := range fine[1:256] { // next to 2^(1 - j/16384)
		n := power.hi << 1
		for _, n := range []uint64{n - 2, n - 1, n, n + 1, n + 2, -n, -n - 1, -n + 1} {
			see(1, n)
		}
	}
	w.mustBeBelow(t, 88)
}

// In log2, what is left after both tables is never negative and below 2^-14, for
// the least and the greatest number of each guess: the table index needs no mask.
func TestLog2Reduction(t *testing.T) {
	for i := range uint64(256) {
		for _, y := range []uint64{i << 56, i<<56 + 1, i<<56 | 1<<55, i<<56 + 1<<56 - 1} {
			if y == 0 {
				continue
			}
			g := guess[y>>56]
			z := coarse[g].scaled(y).plus(coarse[g])
			low := z.hi - mulHi(z.hi, z.hi)>>1
			j := mulHi(low, halfInv.hi) >> 49
			if z.hi>>58 != 0 || j > 255 {
				t.Fatalf("y = %#x leaves z = %#x and j = %d", y, z.hi, j)
			}
			if d := z.times(fine[j]).plus(fine[j]); d.hi>>50 != 0 {
				t.Errorf("y = %#x, j = %d leaves d = %#x", y, j, d.hi)
			}
		}
	}
}
