package record

import "testing"

// The id of a line is found whatever its time is, and only where it is valid.
func TestIDScanner(t *testing.T) {
	for line, want := range map[string]string{
		`{"id":"a"}`: "a",
		`{"id":"a","last_accessed_ms":"never","x":{"id":2}}`: "a",
		` {"x":1,"\u0069d":"\u0061\n"} `:                     "a\n",
		`{"id":"a","id":"b"}`:                                "",
		`{"id":" "}`:                                         "",
		`{"id":1}`:                                           "",
		`{"ID":"a"}`:                                         "",
		`{"id":"a"`:                                          "",
		`{"id":"` + "\xff" + `"}`:                            "",
		`["id"]`:                                             "",
		``:                                                   "",
	} {
		s, err := NewIDScanner("")
		if err != nil {
			t.Fatal(err)
		}
		var rec Record
		got := ""
		if s.Scan([]byte(line), &rec) {
			got = UnquoteID(&rec)
		}
		if got != want {
			t.Errorf("id of %s is %q, want %q", line, got, want)
		}
	}
	nested, err := NewIDScanner("meta.key")
	if err != nil {
		t.Fatal(err)
	}
	var rec Record
	if !nested.Scan([]byte(`{"id":1,"meta":{"key":"k"}}`), &rec) || UnquoteID(&rec) != "k" {
		t.Errorf("nested id is %q", rec.ID)
	}
	if _, err := NewIDScanner("a..b"); err == nil {
		t.Error("an empty part of a path was accepted")
	}
}

// Where a whole record is valid, its id is the one that Parse reads.
func TestIDScannerAgrees(t *testing.T) {
	all, err := NewScanner(Layout{})
	if err != nil {
		t.Fatal(err)
	}
	ids, err := NewIDScanner("")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range seedLines(t) {
		var want, got Record
		if all.Parse(line, &want) != nil {
			continue
		}
		if !ids.Scan(line, &got) || UnquoteID(&got) != UnquoteID(&want) {
			t.Errorf("id of %q is %q, want %q", line, got.ID, want.ID)
		}
	}
}
