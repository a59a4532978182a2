// Package transaction makes a sweep all or nothing.
package transaction
