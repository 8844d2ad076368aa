-- The counter of a namespace; no clock plays a part. ARGV: operation, number.
--
-- KEYS[1]  hash: the next number, and by which process of Redis it was vouched for
--
-- Numbers are text throughout: Lua's are exact to 2^53 only.
local COUNTER = KEYS[1]

local function info(section)
    local all = redis.call('INFO', section)
    return function(field)
        return string.match(all, '\n' .. field .. ':([^\r\n]*)')
    end
end

local function is_less(a, b)
    return #a < #b or (#a == #b and a < b)
end

local stored = redis.call('HMGET', COUNTER, 'next', 'run_id', 'promoted')
local next = stored[1] or '1'
-- As for leases: see begin.lua.
local run_id = info('server')('run_id') or ''
local promoted = info('replication')('master_replid2') or ''
if string.match(promoted, '^0*$') then
    promoted = stored[3] or ''
end
local is_lost = run_id ~= stored[2] or promoted ~= stored[3]

if ARGV[1] == 'resume' then
    if is_less(next, ARGV[2]) then
        next = ARGV[2]
    end
    redis.call('HSET', COUNTER, 'next', next, 'run_id', run_id, 'promoted', promoted)
    return {'ok', next}
end
if is_lost then
    return {'lost', next}
end
if ARGV[1] == 'reserve' then
    local reserved = redis.pcall('HINCRBY', COUNTER, 'next', ARGV[2])
    if type(reserved) == 'table' then
        return {'refused', next, reserved.err}
    end
end
return {'ok', next}
