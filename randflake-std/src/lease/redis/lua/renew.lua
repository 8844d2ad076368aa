local ttl = tonumber(ARGV[FIRST])
if ttl > ticks(max_ttl_ms) then
    return {'ttl', now_ms, max_ttl_ms, ARGV[FIRST]}
end
local reply = {'ok', now_ms, 0}
for at = FIRST + 1, #ARGV, 3 do
    local node, tick = ARGV[at], -1
    local former_end = held(node, ARGV[at + 1], ARGV[at + 2]) and end_of(node)
    if former_end and now < former_end then
        tick = math.max(former_end, math.min(now + ttl, max_end))
        redis.call('ZADD', ENDS, text(tick), node)
        note_end(tick)
    end
    reply[#reply + 1] = tick
end
return done(reply)
