-- Sends `before .. item .. after` for the items of a file, one a line, with tabs for line breaks. Each thread has its own share of the items.
-- Arguments: folder, number of threads, "once", "renews" or "again".

local threads = {}

function setup(thread)
  thread:set("id", #threads)
  table.insert(threads, thread)
end

local function read(name)
  local file = assert(io.open(folder .. "/" .. name, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

function init(args)
  folder, kind, items, first, spent = args[1], args[3], {}, 1, 0
  before, after = read("before"), read("after")
  local place = 0
  for line in io.lines(folder .. "/items") do
    if place % tonumber(args[2]) == id then items[#items + 1] = line:gsub("\t", "\r\n") end
    place = place + 1
  end
  last = #items
  if kind ~= "renews" then response = nil end
end

function request()
  local item = items[first]
  if item == nil then
    spent, item = spent + 1, items[last]
  elseif kind == "again" and first == last then
    first = 1
  else
    first = first + 1
  end
  return before .. item .. after
end

function response(status, headers, body)
  local item = string.match(body, '"refresh_token":%s*"([^"]+)"')
  if item then
    last = last + 1
    items[last] = item
  end
end

function done(summary, latency, requests)
  local left, spent = {}, 0
  for _, thread in ipairs(threads) do
    spent = spent + thread:get("spent")
    if thread:get("kind") == "renews" then
      local items, first, last = thread:get("items"), thread:get("first"), thread:get("last")
      for place = first, last do left[#left + 1] = items[place] end
    end
  end
  local errors = summary.errors
  local file = assert(io.open(threads[1]:get("folder") .. "/found", "wb"))
  file:write(string.format(
    '{"seconds":%.6f,"requests":%d,"p50_us":%d,"p99_us":%d,"failed":%d,"spent":%d}\n',
    summary.duration / 1e6, summary.requests, latency:percentile(50), latency:percentile(99),
    errors.status + errors.connect + errors.read + errors.write + errors.timeout, spent))
  file:write(table.concat(left, "\n"))
  file:close()
end
