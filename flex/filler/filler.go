// Package filler adds to views what passes do not see: estimates, prices and quotas. No pass waits
// for any of them.
package filler
