-- Reads a record (a namespace's, or a counter's), node ids that are asked for, and some that may be free.
--
-- KEYS:
--   the record, as text
--   nodes  hash: node id -> its record as text; "mark" -> a random number, by which it is missed if it vanishes
--   ends   sorted set: node id -> its lease's end, 0 before its first; "unused" -> how many node ids from the
--          first on it has at least, as a negative number. It is a hint.
-- ARGV: the tick, or nothing: then by the server's clock; epoch and tick in milliseconds; how many free node
-- ids; of how many; a random number; node ids.
local RECORD, NODES, ENDS = KEYS[1], KEYS[2], KEYS[3]
local tick, epoch_ms, tick_ms = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local wanted, node_ids, random = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
-- So many free node ids are known besides those wanted, that clients at one time seldom take the same.
local SPARE, STEP = 16, 64

tick = tick or math.floor((time[1] * 1000 + math.floor(time[2] / 1000) - epoch_ms) / tick_ms)

-- How often something was done by which keys vanish, or come back as they were.
local commands, replaced = redis.call('INFO', 'commandstats'), 0
for _, name in ipairs({
    'copy', 'debug', 'flushall', 'flushdb', 'move', 'restore', 'restore-asking', 'swapdb',
}) do
    local _, last = string.find(commands, '\ncmdstat_' .. name .. ':calls=', 1, true)
    replaced = replaced + (last and string.match(commands, '^%d+', last + 1) or 0)
end

local mark = redis.call('HMGET', NODES, 'mark')[1]
local nodes = {}
for at = 7, #ARGV do
    nodes[#nodes + 1] = ARGV[at]
end

local unused = -(redis.call('ZSCORE', ENDS, 'unused') or 0)
local first = unused > 0 and 1 or 0
local leased = redis.call('HLEN', NODES) - (mark and 1 or 0)
local is_indexed = redis.call('ZCARD', ENDS) - first >= leased
local hints, free_from = {}, false
if wanted > 0 and is_indexed then
    local ended = redis.call('ZCOUNT', ENDS, 0, string.format('%.0f', tick))
    while ended + #hints < wanted + SPARE and unused < node_ids do
        local next = {}
        for node = unused, math.min(unused + STEP, node_ids) - 1 do
            next[#next + 1] = string.format('%.0f', node)
        end
        for at, record in ipairs(redis.call('HMGET', NODES, unpack(next))) do
            if not record then
                hints[#hints + 1] = next[at]
            end
        end
        unused = unused + #next
    end
    local total = ended + #hints
    local take = math.min(wanted, total)
    local from = random % (total - take + 1)
    local taken = math.max(0, math.min(take, ended - from))
    if taken > 0 then
        for _, node in ipairs(redis.call('ZRANGE', ENDS, first + from, first + from + taken - 1)) do
            nodes[#nodes + 1] = node
        end
    end
    from = math.max(0, from - ended)
    for at = from + 1, from + take - taken do
        nodes[#nodes + 1] = hints[at]
    end
    if take < wanted then
        local rank = first + ended + wanted - take - 1
        free_from = redis.call('ZRANGE', ENDS, rank, rank, 'WITHSCORES')[2] or false
    end
end

local records = {}
for at = 1, #nodes, 1000 do
    for _, record in ipairs(redis.call('HMGET', NODES, unpack(nodes, at, math.min(at + 999, #nodes)))) do
        records[#records + 1] = record
    end
end
return {
    time, {run_id, promoted, replaced, info('memory')('maxmemory_policy')}, redis.call('GET', RECORD), mark,
    {is_indexed and 1 or 0, unused, free_from, hints}, nodes, records,
}
