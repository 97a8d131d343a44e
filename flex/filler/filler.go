// Package filler adds data to views that passes do not collect: estimates, prices and quotas.
// Passes never wait for it.
package filler
