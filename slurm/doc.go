// Package slurm holds the Slurm data that the rest of the product decides on. It parses the output
// of Slurm's commands and the input of the programs that Slurm calls. It supports Slurm 22.05 to
// 26.05 and touches nothing outside its arguments. A failed read returns an error and no values, so
// that unread data is never mistaken for an empty result.
package slurm
