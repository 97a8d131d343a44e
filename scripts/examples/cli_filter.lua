-- Shows the expected wait at submission. The patterns keep user input out of the shell.
local function estimate(options)
  local nodes = string.match(options.nodes or "", "^%d+$")
  local partition = string.match(options.partition or "", "^[%w_.,-]+$")
  if not nodes or not partition then
    return
  end
  local command = "[ -t 2 ] && exec timeout -s KILL 1 slurmflex estimate --short --nodes=" .. nodes .. " --partition=" .. partition
  local pipe = io.popen(command .. " </dev/null 2>/dev/null")
  local line = pipe:read("*l")
  pipe:close()
  if line then
    slurm.log_info("%s", line)
  end
end

function slurm_cli_setup_defaults(options, early)
  return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, component)
  if component == 0 then
    pcall(estimate, options)
  end
  return slurm.SUCCESS
end

function slurm_cli_post_submit(component, job, step)
  return slurm.SUCCESS
end

return slurm.SUCCESS
