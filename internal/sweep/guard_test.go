package sweep

import "testing"

// A limit is a whole number of records or whole percents, and shows as it is written.
func TestParsePruneLimit(t *testing.T) {
	for _, good := range []string{"0", "1000", "9223372036854775807", "0%", "100%"} {
		if limit, ok := ParsePruneLimit(good); !ok || limit.String() != good {
			t.Errorf("%q is read as %v, %v", good, limit, ok)
		}
	}
	for _, bad := range []string{"", "%", "-1", "+1", "0.5", "101%", "1e3", "1_000", " 1", "9223372036854775808", "20 %", "20%%", "٣"} {
		if limit, ok := ParsePruneLimit(bad); ok {
			t.Errorf("%q is read as %v", bad, limit)
		}
	}
}
