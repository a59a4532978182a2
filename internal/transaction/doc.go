// Package transaction makes a sweep of a store all or nothing: whatever stops
// it, input, archive and audit are all as before or all as after once the next
// run has looked, and no record is lost or in two places.
//
//	             Begin                          Commit
//	        lock, settle, check        ┌────────────────────────────────────────┐
//	INPUT ──read──> engine ──Retained──> .INPUT.recolva-new ──rename──> INPUT     = the commit point
//	                       ──Pruned────> .INPUT.recolva-add ──append──> ARCHIVE
//	                       ──Audit─────> .INPUT.recolva-aud ──append──> AUDIT
//	                                     .INPUT.recolva-journal  says how to undo or finish
//
// # Files
//
// Every file NAME has its companions beside it, named .NAME.recolva-SUFFIX.
// The names are fixed; the lock makes sure that one set exists at most. All are
// made with O_EXCL and O_NOFOLLOW, mode 0600, the lock without O_EXCL.
//
//	suffix       beside            holds
//	lock         all three         flock of the sweep; one JSON line per holder
//	new          the home          the retained lines, then the carried tail
//	add, aud     the home          bytes to append to the archive, to the audit
//	old          the home          a hard link to the input that was replaced
//	journal      the home          what is being done (journal.tmp while written)
//	pending      archive, audit    where the journal is (pending.tmp while written)
//	next, prior  archive, audit    replace mode: the new file; a hard link to the one before
//	                               (a dry-run makes and removes prior to see whether links can be)
//
// The home is the input; in a dry-run, which only writes an audit, it is the
// audit (and then no pending pointer is needed). Symbolic links are resolved
// first: the companions stand beside the real file, in its real name.
//
// # Locks
//
// The lock files are held from Begin to the end. The home's comes first. None
// is waited for while another is held: when one is busy, all are given back,
// and everything begins again until the timeout; so no two sweeps can wait for
// each other. Taking one: open (O_CREAT, O_APPEND, O_NOFOLLOW, 0600), flock
// LOCK_EX|LOCK_NB, then compare inode of the descriptor and of the name, and
// begin again when they differ, because the holder removes the name before it
// closes. The holder appends the line
//
//	{"pid":123,"with":["ARCHIVE","AUDIT"]}
//
// where "with" names, in the home's lock file, the other places of the sweep
// (as "path" below); in the other lock files it is empty. A killed process
// leaves its line; whoever takes the lock next also takes the locks of the
// places named there, and cleans up beside them. The name of a lock file is
// removed before its descriptor is closed, the home's last.
//
// The data files themselves are locked (flock on the file) only during the
// commit and the recovery. This is the lock that other writers may take:
// open the store to append, flock it, compare the inodes of descriptor and
// name (begin again when they differ), add a newline if the last one is
// missing, append the whole line with one write, close. Input, archive and
// audit are locked in the order of (device, inode).
//
// # Steps
//
//  1. Take the lock files. Settle every journal and pointer found (below).
//     fsync the directories: a journal that is not seen must be gone for good
//     before its names are used again. Remove companions without a journal.
//  2. Check kinds, identity (device and inode, pairwise), hard links. Open the
//     input. Read the audit's chain link.
//  3. Stage new, add, aud while the engine reads the input up to its length at
//     open. An error until here only removes the staged files.
//  4. Lock the data files. The input must still be the inode under its name,
//     not shorter, with one link; if a time of change moved (or could hide a
//     change) the swept bytes are hashed again. Decide the last line. Append
//     the run line to aud. If nothing is pruned, input and archive drop out.
//     Copy the appended tail to new; while the input has a writer only its
//     whole lines. Copy mode, owner, extended attributes. fsync new, add, aud,
//     and the directory. The lock files must still be under their names.
//  5. Write the pending pointers beside archive and audit: tmp, fsync, rename,
//     directory fsync. Then the journal, the same way.
//  6. Append add to the archive, fsync; append aud to the audit, fsync (a new
//     file: directory fsync). Space is reserved first, and each write is of whole
//     lines, up to about 1 MiB.
//     If the archive is longer then than expected, others wrote between our
//     writes: it must hold all our lines, among theirs; an audit must hold ours
//     in one piece. A piece is written while nobody else has the file open, if
//     such a moment comes within a tenth of a second. In replace mode: link the
//     file to prior, directory fsync, rename next over it, directory fsync; where
//     there was none, link next to the name, which goes over nothing. The new audit
//     of a dry-run is always put in place so, and not copied, where links can be made.
//  7. Link the input to old, directory fsync. flock new. Check the input's
//     inode, and that the name of new leads to it. Rename new over the input, directory fsync: committed.
//     Where the input stays, removing the journal is the commit point.
//  8. Unlock. Drain: while old has a writer (Linux: F_SETLEASE F_RDLCK is
//     refused) or is longer than what was carried, move its whole lines to the
//     store, each piece journalled first, but none while the store ends within a
//     line and another process has it open: its rest may come. It is written as
//     in step 6. Without leases: until it has not
//     grown for a fifth of a second. After at most two seconds with a writer:
//     class Uncertain, the journal and old stay, and the next run goes on.
//     Then the same from prior to an archive that was replaced.
//  9. Remove the journal, directory fsync; only then the other companions.
//
// An error in steps 5 to 7 is settled at once, as recovery would. A failed
// directory fsync after the rename is class Uncertain: nothing is retried, the
// journal stays, and the next run settles it.
//
// # Journal
//
// The journal is one line of JSON and one line with the lower-case hexadecimal
// SHA-256 of the first line, its newline included; nothing follows.
//
//	{"recolva":1,"home":"store.jsonl","replace_input":true,
//	 "old":{"ino":11,"bytes":400,"open":false,"sha256":"…"},
//	 "new":{"ino":12,"bytes":300,"sha256":"…"},
//	 "targets":[{"role":"archive","path":"archive.jsonl","mode":"append","existed":true,
//	             "ino":13,"size":1000,"joint":false,"bytes":100,"sha256":"…","next_ino":0}, …],
//	 "drain":null}
//
// All members are present, in this order; an unknown member makes the journal
// unusable. Numbers are integers. Sums are 64 lower-case hexadecimal digits.
//
//	recolva        1: the version of this format
//	home           the base name of the file beside which the journal stands
//	replace_input  whether the input is replaced; if false, old and new are null
//	old.ino        inode of the input before
//	old.bytes      how many of its first bytes new accounts for (swept or carried)
//	old.open       whether these bytes end without a newline
//	old.sha256     their sum
//	new            inode, length and sum of the file named new
//	targets        at most an archive and an audit, in this order; role "archive" or "audit"
//	  path         base name if in the home's directory, else absolute
//	  mode         "append" or "replace"
//	  existed      whether the file was there; ino and size are its inode and length, else 0
//	  joint        append: a newline comes first, because the last one was missing
//	  bytes        how many bytes are added (the joint not counted), sha256 is their sum
//	  next_ino     replace: inode of the file named next; else 0
//	drain          null, or how far lines have been moved to the store:
//	  source       "old" (after the commit), "new" (after a commit that a power cut undid), or
//	               "prior" (after "old": from the replaced archive; its store is the new archive)
//	  from         bytes of the source before this offset are done
//	  piece        null, or {"to","ino","base","joint","sha256"}: the bytes [from, to) of the
//	               source, with this sum, are being appended (after a newline if joint) to the
//	               store or archive, which has inode ino and is base bytes long
//
// A path is a string of bytes, and each byte is written as the character with
// its number, U+0000 to U+00FF (Latin-1), whatever the encoding of the name.
//
// A pending pointer has the same two lines; its JSON is
//
//	{"recolva":1,"home":"store.jsonl"}
//
// with the path of the home as seen from the file beside which it stands: a
// base name in the same directory, else absolute.
//
// Journal and pointers are followed only if they are regular files with one
// link, owned by the effective user, not writable by group or others, at most
// 1 MiB long, and their sum matches; else a person is needed. A pointer whose
// home has no journal is stale. One whose home's directory is missing needs a
// person.
//
// # Recovery
//
// Take the lock of the place, and the locks of all places that its journal,
// its pointer or a killed holder's line name, until no more are found. Then for
// each journal, once nobody holds the data lock of its home, one question: is new
// still under its own name? If new is not there, is the input still the inode
// old.ino? Either means: not committed; but an input of that inode whose first
// old.bytes do not have the sum old.sha256 was moved to another disk, and needs a
// person.
//
//	stopped in       found                              done
//	1-4              no journal                         companions removed: as before
//	5, 6, 7          journal, new (or old input)        rolled back: as before; or, where that
//	                                                    cannot be, rolled forward: committed
//	7, after rename  journal, no new, another input     finished: committed
//	8                the same, drain                    drained on: committed
//	9                no journal                         companions removed: committed
//
// new with another inode than new.ino, or a missing input, needs a person. So does
// an add or aud that does not have its length and sum where it is to be used: it
// was damaged.
//
// If no pointer beside a target leads to this very journal (and the target is not
// the home), the journal may be a copy, and the target the original's; or the
// pointer was taken for a stale one where its home could not be seen. Then nothing
// is taken from the target: the run is rolled forward, or needs a person.
//
// Roll back looks at all targets first, then undoes:
//
//   - append: the file must have its inode (if it existed), be at least size
//     bytes long, and end a line there unless joint; else a person is needed. If every further byte equals the
//     staged one or is zero (a power cut), and they are at most joint and bytes,
//     it is cut to size and fsynced, or removed if it had not existed. This is
//     done while nobody else has the file open (Linux: F_SETLEASE F_WRLCK), and
//     not if it has grown since the look. If it has bytes of others and no whole
//     line of ours, there is nothing to be cut. Else it must be rolled forward;
//     so too if somebody else has the file open.
//   - replace: if the file's inode is next_ino, it must be rolled forward: who
//     found the new file may write to it. If it still has its inode, or somebody
//     made it meanwhile while next still waits, nothing is to be done.
//   - the first new.bytes of new must have the sum new.sha256, else somebody
//     changed the store in place before a power cut undid the rename: a person
//     is needed.
//   - if new is longer than new.bytes, somebody wrote to it after a rename that
//     a power cut undid: these lines are moved to the input, by a drain from new.
//
// Each is made durable; then step 9.
//
// Roll forward is what is left of steps 6 and 7. Bytes behind which others have
// written can never be cut away again: a restore meets this, whose archive is
// the live store. It needs, before it touches anything:
//
//   - the input to be the inode old.ino, its first old.bytes to have the sum
//     old.sha256, and drain to be null;
//   - new to be there, its first new.bytes with the sum new.sha256;
//   - a replaced target to have the inode next_ino, or next to be there as it was
//     staged, and then it takes the target's place now; an appended one to be there
//     with its inode, or not to have existed; an audit to hold all of its block
//     in one piece, or nothing but a part of it at its end.
//
// Then each target is completed: if it can be cut as above, it is, and all is
// appended again. Else whole lines of ours that are there are done, in their
// order, whatever stands between them, and the others follow at the end, after
// a newline where one is missing. Zeros in the place of a part of a line count
// as a line that is not there. The lines that are there are written once more
// over themselves before the fsync, because an earlier fsync may have failed,
// and a second one proves nothing. Then old is linked, if it is not, and step 7
// and what follows are done. In a dry-run only the audit is completed.
//
// If roll forward cannot be, or fails before the rename, and only the use of a
// file by others was against roll back, it is rolled back nevertheless, with a
// last look at the length before the cut; a replaced file is given its name back
// while nobody has the new one open for writing, and if that holds exactly what
// was staged (prior is renamed over it). Else a person is needed.
//
// Finish: if drain is null, archive and audit must hold what was added (their
// inode being the same), the archive be it among lines of others, else a person
// is needed. Fsync the directory of the
// home. Then step 8 and 9.
//
// A piece that was cut off is looked for in the store from base on (from 0 if
// the inode is another): if it is there, it is done. If the store ends within
// it, or with zeros in its place, and nobody else has the store open (Linux:
// F_SETLEASE F_WRLCK), the store is cut to base. If not, whole lines of it that
// are there are done, and the rest follows after a newline; a torn line may
// stay, and is reported.
//
// # Limits
//
// A writer that rewrites the whole store without the lock can lose its update
// between the last look at the inode and the rename.
//
// A writer without the lock that writes a line in several pieces may find it
// split, if it begins the line in the instant between our last look at the end
// of the file and our write.
//
// A write of ours that is longer than a page may be done in part, by a SIGKILL
// as by a power cut. What is torn is cut off at once or by the next run, unless
// somebody without the lock has appended behind it by then, or keeps the file
// open. So a writer that appends without the lock may, after a kill or a power
// cut within such a write (to the store: in a drain or a restore; to the archive:
// in a sweep), find a torn line of ours before its own, on one line with it if it
// does not begin a new line where the last one is open; and, after a power cut
// only, a line of its own torn or twice. Nothing is lost, and the next sweep
// names the line.
//
// Lines of others between ours make the records of a run in the archive no
// longer one piece: each is there once, but verify and restore --run do not
// find them as the run's; restore --id does.
//
// Recovery takes lines of others that equal ours, byte by byte, for ours: it
// counts them as added, or cuts them off with what it undoes.
//
// A writer that changes the store in place without the lock, at the same length
// and without a new time of change (as through a mapping that was written to
// before), can lose the change.
//
// A new archive that is given another name between a kill in the commit and the
// recovery keeps its records, which stay in the store too.
//
// Nobody else is let in while a file is cut, but the kernel ends this after 45
// seconds (lease-break-time): a recovery that is stopped for longer between its
// last look and the cut, as by a frozen container, cuts off what was appended by
// then.
//
// Who removes a lock file while it is held loses nothing: the sweep that holds
// it stops, or its files need a person.
//
// These need a person: a run that must be rolled forward whose input was
// rewritten or replaced since, or which met a power cut that undid its rename
// after others had written to the new store; an archive (in a restore: the
// store) that was replaced by another program between a kill in the commit and
// the recovery; lines of others within our block in an audit, or in its place;
// lines written to a replaced archive whose renaming a power cut undid.
//
// Where a run can be neither finished nor be alone with a file, one that holds
// this file open and appends in the instant between the last look and the cut,
// or opens a replaced archive in the instant in which the earlier one takes its
// place, loses what it writes there.
//
// After a power cut right behind a commit, companions of archive and audit
// that were already removed may be back; the next sweep that names these
// files removes them. Inode numbers must be stable, so a store
// that was copied in the middle of a commit needs a person.
package transaction
