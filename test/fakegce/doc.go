// Package fakegce is a fake of the Compute Engine API. It covers what flex-start and machines
// without a group need: managed instance groups, resize requests, instances, templates,
// resource policies and operations, with Google's paths, bodies and errors. It keeps state: a
// resize request moves from CREATING to ACCEPTED and further, its VMs boot, and their leases
// (maxRunDuration) end.
//
// There are three ways in: an http.Handler, an in-memory http.RoundTripper (Transport), and
// the command slurmflex-fakegce. Time is read from a Clock: either the wall clock, which
// follows the bubble's time in a testing/synctest bubble, or a manual clock that only Advance
// moves.
//
// Behaviour that Google documents, or that the tests of Google's clients show, is built in.
// Behaviour that is only inferred is one of the Switches. The fake refuses what it does not
// know: methods, query parameters, body fields and filters.
//
// Tests change the world through methods of Server (SetCapacity, SetModelCapacity,
// SetReservation, SetQuota, AddFault, FailRequest, DeleteVM, StopVM, PreemptVM, EndLease,
// Advance), or over HTTP under /fake/ as described in `slurmflex-fakegce --help`.
//
// Where Google's documentation is silent and no switch exists, the fake
//
//   - refuses a missing or unsuitable reservation in the call of bulkInsert, and a full reservation in the
//     call's operation
//   - counts the GPUs of a reservation towards the standard quota, and not those of the machines that use it
//   - refuses EVEN groups and repairs in the resize request's operation, not when the group is made
//   - refuses fractions of a second (nanos) in a request's requestedRunDuration, and accepts them in a template
//   - applies flex-start's limits on resize requests (machine types, accelerators, no resource policies) to
//     bulkInsert, too
package fakegce
