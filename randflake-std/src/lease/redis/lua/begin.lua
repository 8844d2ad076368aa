-- Put before each operation: reads the clock, and finds out whether the server has forgotten leases.
--
-- KEYS, all of one hash slot:
--   namespace  hash: what it was created with, and what is known of all its leases
--   ends       sorted set: node id -> its lease's end, also of leases that are over
--   leases     hash: node id -> "state:start:fencing token:token:holder"
--   tokens     hash: token -> node ids; token "#" -> how many of them still carry the token
-- State is 1 while the lease is held, 0 when it was released, 2 when its token counts no more.
-- Node ids come into use in order: those from `unused` on have no lease.
local NAMESPACE, ENDS, LEASES, TOKENS = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local VERSION = '1'
local node_ids, epoch_ms, tick_ms = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local max_end = tonumber(ARGV[7])
-- What the client has seen of the namespace: whether it was there, and the latest end of a lease.
local was_seen, seen_end = ARGV[8] == '1', tonumber(ARGV[9])
local FIRST = 10

-- Numbers as they are: Lua would write large ones with an exponent.
local function text(number)
    return string.format('%.0f', number)
end

local function ticks(ms)
    return math.ceil(ms / tick_ms)
end

local function info(section)
    local all = redis.call('INFO', section)
    return function(field)
        return string.match(all, '\n' .. field .. ':([^\r\n]*)')
    end
end

local now_ms = tonumber(ARGV[1])
if not now_ms then
    local time = redis.call('TIME')
    now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
end
if now_ms < epoch_ms then
    return {'epoch', now_ms}
end
-- `fmod` is exact where `%` is not.
local since_ms = now_ms - epoch_ms
local now = (since_ms - math.fmod(since_ms, tick_ms)) / tick_ms

local stored = redis.call('HMGET', NAMESPACE, 'version', 'node_ids', 'epoch_unix_ms', 'tick_ms',
    'max_ttl_ms', 'fence', 'latest_end', 'unused', 'run_id', 'promoted')
if stored[1] and stored[1] ~= VERSION then
    return {'version', now_ms, stored[1]}
end
if stored[1] and (stored[2] ~= ARGV[2] or stored[3] ~= ARGV[3] or stored[4] ~= ARGV[4]) then
    return {'layout', now_ms, tonumber(stored[2]), tonumber(stored[3]), tonumber(stored[4])}
end
local max_ttl_ms = tonumber(stored[5] or ARGV[5])
local fence, latest_end = tonumber(stored[6] or 0), tonumber(stored[7] or 0)
local unused = tonumber(stored[8] or 0)

-- A process of Redis is known by its run id, and a replica that became a master by the replication id
-- of the one that it followed.
local server = info('server')
local run_id = server('run_id') or ''
local promoted = info('replication')('master_replid2') or ''
if string.match(promoted, '^0*$') then
    promoted = stored[10] or ''
end

-- When everything granted until now is over, also by a clock that differs by what is allowed.
local function all_over(known_over_ms)
    return now + ticks(max_ttl_ms) + ticks(ARGV[6]) - math.floor(known_over_ms / tick_ms)
end

-- Whether something that is not there may have been deleted since the server started.
local function may_be_deleted()
    local commands = info('commandstats')
    return was_seen or promoted ~= '' or redis.call('EXISTS', ENDS, LEASES, TOKENS) > 0
        or commands('cmdstat_flushall') or commands('cmdstat_flushdb') or commands('cmdstat_swapdb')
        or tonumber(info('stats')('evicted_keys') or 0) > 0
end

local is_whole = stored[1] and redis.call('ZCARD', ENDS) == unused
    and redis.call('HLEN', LEASES) == unused
if not is_whole then
    local known_over_ms = 0
    if not stored[1] and not may_be_deleted() then
        -- New, or forgotten by the process before this one.
        known_over_ms = 1000 * tonumber(server('uptime_in_seconds'))
    end
    fence = math.max(fence, latest_end, seen_end, all_over(known_over_ms))
    latest_end, unused = 0, 0
    redis.call('DEL', NAMESPACE, ENDS, LEASES, TOKENS)
    redis.call('HSET', NAMESPACE, 'version', VERSION, 'node_ids', ARGV[2], 'epoch_unix_ms', ARGV[3],
        'tick_ms', ARGV[4], 'max_ttl_ms', max_ttl_ms, 'latest_end', 0, 'unused', 0)
elseif run_id ~= stored[9] or promoted ~= stored[10] then
    fence = math.max(fence, seen_end, all_over(0))
end
if not is_whole or run_id ~= stored[9] or promoted ~= stored[10] then
    redis.call('HSET', NAMESPACE, 'fence', text(fence), 'run_id', run_id, 'promoted', promoted)
end

-- A lease's parts, or nothing.
local function read(node)
    local lease = redis.call('HGET', LEASES, node)
    if lease then
        local state, start, fencing, token, holder = string.match(lease, '^(%d):(%d+):(%d+):(%x+):(.*)$')
        return {state = state, start = tonumber(start), fencing = fencing, token = token, holder = holder}
    end
end

local function write(node, lease)
    redis.call('HSET', LEASES, node, lease.state .. ':' .. text(lease.start) .. ':' .. lease.fencing
        .. ':' .. lease.token .. ':' .. lease.holder)
end

local function end_of(node)
    return tonumber(redis.call('ZSCORE', ENDS, node))
end

-- The lease of a grant that is still its holder's.
local function held(node, fencing, token)
    local lease = read(node)
    if lease and lease.state == '1' and lease.fencing == fencing and lease.token == token then
        return lease
    end
end

-- The latest end of all, which clients remember in case that the server forgets it.
local function done(reply)
    reply[3] = latest_end
    return reply
end

local function note_end(tick)
    if tick > latest_end then
        latest_end = tick
        redis.call('HSET', NAMESPACE, 'latest_end', text(tick))
    end
end
