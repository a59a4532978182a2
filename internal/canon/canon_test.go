package canon

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"
	"unicode/utf8"
)

// Numbers print as ECMAScript prints them; the first block is the table of RFC 8785, appendix B.
func TestAppendFloat(t *testing.T) {
	for _, c := range []struct {
		x    float64
		want string
	}{
		{math.Float64frombits(0x0000000000000000), "0"},
		{math.Float64frombits(0x8000000000000000), "0"},
		{math.Float64frombits(0x0000000000000001), "5e-324"},
		{math.Float64frombits(0x8000000000000001), "-5e-324"},
		{math.Float64frombits(0x7fefffffffffffff), "1.7976931348623157e+308"},
		{math.Float64frombits(0xffefffffffffffff), "-1.7976931348623157e+308"},
		{math.Float64frombits(0x4340000000000000), "9007199254740992"},
		{math.Float64frombits(0xc340000000000000), "-9007199254740992"},
		{math.Float64frombits(0x4430000000000000), "295147905179352830000"},
		{math.Float64frombits(0x44b52d02c7e14af5), "9.999999999999997e+22"},
		{math.Float64frombits(0x44b52d02c7e14af6), "1e+23"},
		{math.Float64frombits(0x44b52d02c7e14af7), "1.0000000000000001e+23"},
		{math.Float64frombits(0x444b1ae4d6e2ef4e), "999999999999999700000"},
		{math.Float64frombits(0x444b1ae4d6e2ef4f), "999999999999999900000"},
		{math.Float64frombits(0x444b1ae4d6e2ef50), "1e+21"},
		{math.Float64frombits(0x3eb0c6f7a0b5ed8c), "9.999999999999997e-7"},
		{math.Float64frombits(0x3eb0c6f7a0b5ed8d), "0.000001"},
		{math.Float64frombits(0x41b3de4355555553), "333333333.3333332"},
		{math.Float64frombits(0x41b3de4355555554), "333333333.33333325"},
		{math.Float64frombits(0x41b3de4355555555), "333333333.3333333"},
		{math.Float64frombits(0x41b3de4355555556), "333333333.3333334"},
		{math.Float64frombits(0x41b3de4355555557), "333333333.33333343"},
		{math.Float64frombits(0xbecbf647612f3696), "-0.0000033333333333333333"},
		{math.Float64frombits(0x43143ff3c1cb0959), "1424953923781206.2"},
		{1, "1"}, {0.5, "0.5"}, {0.1, "0.1"}, {1e-5, "0.00001"}, {1e-7, "1e-7"}, {-1e-7, "-1e-7"},
		{1.5e-10, "1.5e-10"}, {1e-100, "1e-100"}, {1e100, "1e+100"}, {123456.789, "123456.789"}, {5e-7, "5e-7"},
		{math.NaN(), "null"}, {math.Inf(1), "null"}, {math.Inf(-1), "null"},
	} {
		if got := string(AppendFloat(nil, c.x)); got != c.want {
			t.Errorf("AppendFloat(%x) = %s, want %s", math.Float64bits(c.x), got, c.want)
		}
	}
}

// Strings escape exactly what RFC 8785 names and keep the rest raw.
func TestAppendString(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", `""`},
		{"plain", `"plain"`},
		{"a\"b\\c/d", `"a\"b\\c/d"`},
		{"\b\t\n\f\r", `"\b\t\n\f\r"`},
		{"\x00\x01\x0b\x1f\x7f", "\"\\u0000\\u0001\\u000b\\u001f\x7f\""},
		{"é東\U0001F600\u2028\u2029<>&", "\"é東\U0001F600\u2028\u2029<>&\""},
		{"\xff", "\"\uFFFD\""},
		{"a\xed\xa0\x80b", "\"a\uFFFD\uFFFD\uFFFDb\""},
		{"\uFFFD", "\"\uFFFD\""},
		{"x\n", `"x\n"`},
	} {
		if got := string(AppendString(nil, c.in)); got != c.want {
			t.Errorf("AppendString(%q) = %s, want %s", c.in, got, c.want)
		}
		if got := string(AppendString([]byte("k:"), []byte(c.in))); got != "k:"+c.want {
			t.Errorf("AppendString(bytes %q) = %s, want k:%s", c.in, got, c.want)
		}
	}
}

// Integers keep every digit of an int64.
func TestAppendInt(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", -1: "-1", 1<<53 + 1: "9007199254740993",
		math.MaxInt64: "9223372036854775807", math.MinInt64: "-9223372036854775808",
	} {
		if got := string(AppendInt(nil, n)); got != want {
			t.Errorf("AppendInt(%d) = %s", n, got)
		}
	}
}

// Appending to a slice with room does not allocate.
func TestNoAllocation(t *testing.T) {
	buf := make([]byte, 0, 256)
	text := []byte("naïve \"quoted\"\n")
	if n := testing.AllocsPerRun(100, func() {
		buf = AppendString(buf[:0], text)
		buf = AppendFloat(buf, 1.2345e-9)
		buf = AppendInt(buf, 42)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// Every string and number reads back as it was written.
func FuzzRoundTrip(f *testing.F) {
	f.Add("a\u2028\"\\\n", uint64(0x3eb0c6f7a0b5ed8d))
	f.Add("\x00\x7f", uint64(1))
	f.Fuzz(func(t *testing.T, text string, bits uint64) {
		if utf8.ValidString(text) {
			var back string
			if err := json.Unmarshal(AppendString(nil, text), &back); err != nil || back != text {
				t.Fatalf("string %q came back as %q (%v)", text, back, err)
			}
		}
		x := math.Float64frombits(bits)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return
		}
		back, err := strconv.ParseFloat(string(AppendFloat(nil, x)), 64)
		if err != nil || back != x {
			t.Fatalf("number %v came back as %v (%v)", x, back, err)
		}
	})
}
