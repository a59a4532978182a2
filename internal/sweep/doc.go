// Package sweep scores the records of a JSONL store and lets the weak ones go.
//
// It knows lines, decisions and order. What a line means is package record's
// part, what a record is worth is package decay's, and how files change safely
// is package transaction's:
//
//	             one lock          each worker for itself              in file order
//	input ──► blockReader ──► worker: line ─► record ─► decision ──► merge ──► Retained ─┐
//	          cuts blocks      renders its block's outputs:            │   ├──► Pruned   ─┤ transaction
//	          at line ends     retained, pruned, audit                 │   └──► Audit    ─┘ commits all
//	                                                                   │                    or nothing
//	                                                                   └──► counts, faults, guards ─► Summary
//
// A worker takes a free block, fills it under the reader's lock, decides its
// lines, and puts it to the merge; whoever completes the next block in order
// writes out all that are ready. There are no more than two blocks a worker,
// so memory does not grow with the file. A line longer than a block makes its
// block grow, up to the limit for lines; blocks that grow big take turns.
//
// # What is promised
//
// The bytes of all outputs, the counts, and the fault reported are the same for
// every number of workers and every block size: the first invalid line in file
// order stops the sweep, whichever worker saw it first. A retained or pruned
// line keeps every byte, its line end included. Nothing is written to the files
// of the store before every line has been decided and every guard has passed.
//
// A last line without a newline may still be in the making by another process.
// It is kept apart, and decided only if the file has not grown by the time of
// the commit; see [transaction.Last].
package sweep
