-- show prints the estimate, if there is a history, on a terminal. What goes into the
-- command is ours, or digits.
local function show(options, component)
  if component ~= 0 or os.getenv("SLURM_JOB_ID") then
    return -- later components, job steps, and jobs that a job submits
  end
  local nodes, tasks = options.nodes, options.ntasks
  if nodes == "1-0" then -- not given
    nodes = tasks == "1" and tasks or ""
  end
  nodes = string.match(nodes, "^%d+")
  local time = options.time and string.match(options.time, "^[%d:-]+$")
  if time and string.find(time, "^2982616-") then -- not given, in 22.05
    time = nil
  end
  for name in string.gmatch(options.partition, "[^,]+") do
    if nodes and partitions[name] then
      local pipe = io.popen(command .. " --partition=" .. partitions[name] .. " --nodes=" .. nodes .. (time and " --time=" .. time or ""))
      local line = pipe:read("*l")
      pipe:close()
      if line then
        slurm.log_info("%s", line)
      end
      return
    end
  end
end

function slurm_cli_setup_defaults(options, early)
  return slurm.SUCCESS
end

-- An error in here refuses no job.
function slurm_cli_pre_submit(options, component)
  pcall(show, options, component)
  return slurm.SUCCESS
end

function slurm_cli_post_submit(component, job, step)
  return slurm.SUCCESS
end

return slurm.SUCCESS
