-- given is what the user gave for a number; nil if nothing.
local function given(value)
  if type(value) == "number" and value ~= slurm.NO_VAL then
    return value
  end
end

local function requests_gpus(job)
  for _, field in ipairs({"tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task"}) do
    local value = job[field]
    if type(value) == "string" and string.find(value, "gpu", 1, true) then
      return true
    end
  end
  return false
end

-- problems are what a job gets wrong in a partition, by what the rules do about it.
local function problems(name, job, part)
  local found, limits = {refuse = {}, warn = {}, off = {}}, partitions[name]
  local function breaks(rule, code, text, ...)
    table.insert(found[rules[rule]], {code = code, text = "partition " .. name .. ": " .. string.format(text, ...)})
  end
  if not limits then
    return found
  end
  local nodes = given(job.min_nodes) or 0
  local minutes = given(job.time_min) or given(job.time_limit) or 0 -- UNLIMITED is more than any limit
  if minutes > limits.minutes then
    breaks("time", slurm.ESLURM_INVALID_TIME_LIMIT, "nodes stay for at most %s; use --time=%s or less", limits.longest, limits.longest)
  end
  if limits.nodes and nodes > limits.nodes then
    breaks("nodes", slurm.ESLURM_INVALID_NODE_COUNT, "the job needs more nodes than there are; use --nodes=%d or fewer", limits.nodes)
  elseif limits.placed and nodes > limits.placed then
    breaks("placement", slurm.ESLURM_INVALID_NODE_COUNT,
      "at most %d nodes can be placed close together; use --nodes=%d or fewer, or parts of the job may be far apart", limits.placed, limits.placed)
  end
  if limits.gpus and not requests_gpus(job) then
    breaks("gpus", slurm.ERROR, "nodes have GPUs, but the job requests none; to use them, add --gpus-per-node=%d", limits.gpus)
  end
  if job.requeue == 0 then
    breaks("requeue", slurm.ERROR, "with --no-requeue the job ends if it loses a machine; leave it out if the job may start again")
  end
  for word in string.gmatch(type(job.comment) == "string" and job.comment or "", "slurmflex:[^%s,;]*") do
    if word ~= "slurmflex:signal" and not string.find(word, "^slurmflex:wait=[1-9]%d?%d?%d?%d?[smhd]$") then
      breaks("comment", slurm.ERROR, "slurmflex ignores %s in --comment; use slurmflex:wait=2h (s, m, h, d) or slurmflex:signal", word)
    end
  end
  if limits.follows and not (given(job.time_limit) or given(job.time_min) or part and given(part.default_time)) then
    breaks("no_time", slurm.ESLURM_INVALID_TIME_LIMIT, "without --time, slurmflex requests machines for the longest time, %s; use --time", limits.longest or "MaxTime")
  end
  return found
end

local function requested_partitions(job, parts)
  if type(job.partition) == "string" then
    return job.partition
  end
  for name, part in pairs(parts) do
    if part.flag_default == 1 then
      return name
    end
  end
  return ""
end

local function append(list, more)
  for _, one in ipairs(more) do
    table.insert(list, one)
  end
end

local function tell(list, before)
  for _, problem in ipairs(list) do
    slurm.log_user("%s", before .. problem.text)
  end
end

-- judge refuses a job that every partition of its list refuses.
local function judge(job, parts)
  local seen, open, refusals, warnings = {}, false, {}, {}
  for name in string.gmatch(requested_partitions(job, parts), "[^,]+") do
    if not seen[name] then
      seen[name] = true
      local found = problems(name, job, parts[name])
      append(refusals, found.refuse)
      if #found.refuse == 0 then
        open = true
        append(warnings, found.warn)
      end
    end
  end
  if #refusals == 0 or open and rules.partitions ~= "refuse" then
    tell(warnings, "")
    if rules.partitions == "warn" then
      tell(refusals, "the job can start only in its other partitions; ")
    end
    return slurm.SUCCESS
  end
  tell(refusals, "")
  return refusals[1].code
end

-- An error in here refuses no job.
function slurm_job_submit(job, parts, uid)
  local ok, code = pcall(judge, job, parts)
  if ok then
    return code
  end
  slurm.log_error("%s", "job_submit.lua of slurmflex: " .. tostring(code))
  return slurm.SUCCESS
end

function slurm_job_modify(job, record, parts, uid)
  return slurm.SUCCESS
end

return slurm.SUCCESS
