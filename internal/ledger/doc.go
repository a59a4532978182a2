// Package ledger reads an audit as the ledger that it is: what each run found,
// moved and left. It proves from it that every record is in exactly one place,
// and finds the records of a run again.
//
// # The audit
//
// A run appends a block: a line for each record that it decided, then a run line.
//
//	{"mode":"archive","id":"a","score":0.4,"action":"pruned","reason":"…","line":3,"run_id":"R"}
//	{"event":"run","run_id":"R","mode":"archive",…,"before":D,"after":D,"archived":D,"audited":D,…,"prev":"…"}
//
// D is {"sha256":"…","bytes":N}. For a sweep, before is the store as it was
// read, after what it retained of it (what others appended meanwhile follows
// after that), archived what it added to the archive, and audited the lines of
// its block. prev is the SHA-256 of the audit from the start of the run line
// before to the start of this block, so the run lines form a chain: a change of
// any line shows in the next run line at the latest. The last run line's
// now_ms, policy and version have no successor yet that would vouch for them.
//
// A restore is a sweep with the roles exchanged, and so is its block:
//
//	{"mode":"restore","id":"a","action":"restored","line":7,"run_id":"S"}
//	{"event":"run","run_id":"S","mode":"restore","of":"R","placed":"merged","scanned":9,"restored":1,
//	 "before":D,"after":D,"archived":D,"audited":D,"version":"…","prev":"…"}
//
// Here line is the number of the record's line in the archive; before and after
// are the archive; archived is the records that moved, each with a newline, as
// they are appended to a store. of is the run whose records came back, or
// "" where they were chosen by id. placed says where they went: "merged", so
// that the store is byte for byte what run R had found (its before), or
// "appended" in the order of the archive. run_id is the first 16 digits of the
// SHA-256 of {"ids":[…],"input_bytes":N,"mode":"restore","prev":"…"}, ids
// sorted and without repeats, or of {"input_bytes":N,"mode":"restore","prev":
// "…","run":"R"}; N is the length of the archive.
//
// # The proof
//
// Verify goes back from the files as they are, a run at a time:
//
//	sweep      the store must begin with the bytes of after; the archive must hold
//	           those of archived; merged by the audit's line numbers they must give
//	           before, which is the store for the next step back
//	restore    the store must hold the restored records; merged into the archive by
//	           the audit's line numbers they must give the archive before
//
// Equal digests mean that no record was lost, doubled or altered, all at once.
// Behind a delete there is no way back, unless a backup shows the store before
// it. Where another program changed the store between two runs, the next run's
// before tells so: that is reported, and is not a fault.
//
// Memory does not grow with the files: what is rebuilt goes to temporary files,
// which have no name where the system can do without.
package ledger
