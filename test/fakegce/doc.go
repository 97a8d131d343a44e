// Package fakegce is a fake of the Compute Engine API, as far as flex-start
// needs it: managed instance groups, resize requests, instances, templates,
// resource policies and operations, with Google's paths, bodies and errors. It
// keeps state: a resize request goes from CREATING to ACCEPTED and on, its VMs
// boot, their leases end.
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
// SetQuota, AddFault, FailRequest, DeleteVM, StopVM, EndLease, Advance), and by
// HTTP under /fake/:
//
//	curl ADDRESS/fake/state
//	curl ADDRESS/fake/calls
//	curl ADDRESS/fake/counts
//	curl -X DELETE ADDRESS/fake/calls
//	curl ADDRESS/fake/capacity -d '{"zone":"us-central1-a","machineType":"a3-highgpu-8g","count":4}'
//	curl ADDRESS/fake/quota -d '{"region":"us-central1","metric":"PREEMPTIBLE_NVIDIA_H100_GPUS","limit":16}'
//	curl ADDRESS/fake/faults -d '{"method":"instances.*","status":503,"times":3,"delay":"2s"}'
//	curl -X DELETE ADDRESS/fake/faults
//	curl ADDRESS/fake/fail -d '{"group":"g","request":"r","code":"QUOTA_EXCEEDED","message":"none left"}'
//	curl ADDRESS/fake/advance -d '{"duration":"1h"}'
//	curl -X POST ADDRESS/fake/vms/NAME/delete
//	curl -X POST ADDRESS/fake/vms/NAME/stop
//	curl ADDRESS/fake/vms/NAME/lease -d '{"left":"90s"}'
package fakegce
