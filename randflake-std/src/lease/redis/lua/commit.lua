-- Writes, if everything still is what was read.
--
-- KEYS as for look.lua. ARGV: the server, as above; between which times, in microseconds, if that matters; the
-- record before and after, nothing where there is none or it stays; the mark, if it is set; "unused", if it is set;
-- how many new hints follow, and those; then for each node id itself, its record before and after, and its end.
local RECORD, NODES, ENDS = KEYS[1], KEYS[2], KEYS[3]
local least, most, before, after = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], ARGV[6]
local hints = tonumber(ARGV[9])
local FIRST = 10 + hints

-- A write that is repeated finds what it has written: no other has the same nonce.
local is_before, is_after = (redis.call('GET', RECORD) or '') == before, #ARGV >= FIRST
for at = FIRST, #ARGV, 4 do
    local record = redis.call('HMGET', NODES, ARGV[at])[1] or ''
    is_before = is_before and record == ARGV[at + 1]
    is_after = is_after and record == ARGV[at + 2]
end
if is_after then
    return {1, time}
end
local now = time[1] * 1000000 + time[2]
if not is_before or run_id ~= ARGV[1] or (promoted ~= '' and promoted ~= ARGV[2])
    or (least and (now < least or now > most)) then
    return {0, time}
end

if after ~= '' then
    redis.call('SET', RECORD, after)
end
if ARGV[7] ~= '' then
    redis.call('HSET', NODES, 'mark', ARGV[7])
end
for at = 10, FIRST - 1 do
    redis.call('ZADD', ENDS, 'NX', 0, ARGV[at])
end
local unused = tonumber(ARGV[8]) or 0
if unused > -(redis.call('ZSCORE', ENDS, 'unused') or 0) then
    redis.call('ZADD', ENDS, -unused, 'unused')
end
for at = FIRST, #ARGV, 4 do
    redis.call('HSET', NODES, ARGV[at], ARGV[at + 2])
    redis.call('ZADD', ENDS, ARGV[at + 3], ARGV[at])
end
return {1, time}
