// Package transaction changes a store, its archive and its audit as one step.
//
// A transaction reads the input as it was when it was opened, stages what is
// retained, pruned and audited in temporary files beside their targets, and
// only Commit touches the files themselves:
//
//	begin    open the input; refuse aliases and anything but a plain file
//	read     Input -> the caller -> Retained, Pruned, Audit (staged beside their targets)
//	commit   fsync the staged files
//	         append to the archive, fsync; append to the audit, fsync
//	         the input is still the one that was read? else put both back
//	         rename the staged input over the input, fsync its directory
//
// So a pruned record is durable in the archive before it leaves the input, and
// a run that prunes nothing touches neither. Rollback, or an error anywhere
// before the rename, leaves all three files as they were.
package transaction
