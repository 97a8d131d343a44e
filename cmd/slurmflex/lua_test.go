package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/test/must"
)

func TestJobSubmitLuaContainsEachPartitionsLimits(t *testing.T) {
	w := manyKindsWorld(t)
	text := w.prints("config", "lua", "job_submit")
	assert.Contains(t, text, `local rules = {time = "refuse", nodes = "refuse", placement = "warn", gpus = "warn", requeue = "warn", no_time = "warn", comment = "warn", partitions = "warn"}

local partitions = {
  ["serve"] = {minutes = 1440, longest = "1-00:00:00"},
  ["train"] = {minutes = 10070, longest = "6-23:50:00", follows = true, nodes = 8, gpus = 8},
}
`)
	file := w.path("job_submit.lua")
	w.runs("config", "lua", "job_submit", "--rule", "time=warn,gpus=off", "--machine", "a3=h4d-standard-192", "-o", file)
	contains(t, must.Text(file), `{time = "warn", nodes = "refuse", placement = "warn", gpus = "off", requeue = "warn", no_time = "warn", comment = "warn", partitions = "warn"}`,
		`["train"] = {minutes = 10070, longest = "6-23:50:00", follows = true, nodes = 8},`)
}
