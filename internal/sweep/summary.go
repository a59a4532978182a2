package sweep

import "github.com/iamfaham/recolva/internal/canon"

// Summary is what a sweep came to.
type Summary struct {
	Mode Mode
	Counts
	Bytes        int64 // of the input, as far as it was swept
	RunID        string
	PolicyDigest string // SHA-256 of the normalised policy, in hex
	NowMillis    int64

	WouldRefuse   []string // dry-run: why a mutation would refuse
	ArchivedBytes int64    // archive: bytes added to the archive
	CarriedBytes  int64    // archive, delete: bytes that others appended meanwhile
}

// AppendJSON appends the summary as one JSON object and a newline.
func (s *Summary) AppendJSON(dst []byte) []byte {
	dst = canon.AppendString(append(dst, `{"mode":`...), s.Mode.String())
	for _, member := range []struct {
		name  string
		value int64
	}{
		{"scanned", s.Scanned()}, {"pruned", s.Pruned}, {"retained", s.Retained},
		{"blank", s.Blank}, {"invalid", s.Invalid}, {"bytes", s.Bytes},
	} {
		dst = appendInt(dst, member.name, member.value)
	}
	dst = canon.AppendString(append(dst, `,"run_id":`...), s.RunID)
	dst = canon.AppendString(append(dst, `,"policy":`...), s.PolicyDigest)
	dst = appendInt(dst, "now_ms", s.NowMillis)
	switch s.Mode {
	case DryRun:
		dst = append(dst, `,"would_refuse":[`...)
		for i, text := range s.WouldRefuse {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = canon.AppendString(dst, text)
		}
		dst = append(dst, ']')
	case Archive:
		dst = appendInt(dst, "archived_bytes", s.ArchivedBytes)
		dst = appendInt(dst, "carried_bytes", s.CarriedBytes)
	case Delete:
		dst = appendInt(dst, "carried_bytes", s.CarriedBytes)
	}
	return append(dst, "}\n"...)
}

func appendInt(dst []byte, name string, value int64) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return canon.AppendInt(dst, value)
}
