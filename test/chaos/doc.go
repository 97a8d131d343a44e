// Package chaos lets the real reconciler, planner and Compute client live
// through random days between a model of Slurm and a fake Compute, in which
// everything around them fails, and holds what they did against invariants.
//
// A seed makes a day: a script of timed events. A day that breaks an invariant
// is shrunk to the few events that it takes. See README.md.
package chaos
