// Package slurm has the values of Slurm that the rest of the product decides
// on, and reads them from what Slurm's commands print and its programs get. It
// reads Slurm 22.05 to 26.05, touches nothing outside its arguments, and never
// takes what it could not read for nothing: a read that fails yields an error
// and no values.
package slurm
