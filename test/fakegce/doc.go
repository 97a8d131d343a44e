// Package fakegce is a fake of the Compute Engine API, as far as flex-start and
// machines without a group need it: managed instance groups, resize requests,
// instances, templates, resource policies and operations, with Google's paths,
// bodies and errors. It keeps state: a resize request goes from CREATING to
// ACCEPTED and on, its VMs boot, their leases end.
//
// It has three doors: an http.Handler, an in-memory http.RoundTripper
// (Transport), and the command slurmflex-fakegce. Its time is a Clock: the wall
// clock, which in a testing/synctest bubble is the bubble's, or a manual one
// that moves only by Advance.
//
// What Google documents, or what its clients' tests show, is built in. What is
// only inferred is one of the Switches. It refuses what it does not know:
// methods, query parameters, fields of a body, filters.
//
// The world is changed from outside by methods of Server (SetCapacity,
// SetModelCapacity, SetReservation, SetQuota, AddFault, FailRequest, DeleteVM,
// StopVM, PreemptVM, EndLease, Advance), and by HTTP under /fake/, as
// slurmflex-fakegce --help says.
package fakegce
