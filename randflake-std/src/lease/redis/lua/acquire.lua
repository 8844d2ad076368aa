local token, holder = ARGV[FIRST], ARGV[FIRST + 1]
local count, ttl = tonumber(ARGV[FIRST + 2]), tonumber(ARGV[FIRST + 3])

if ttl > ticks(max_ttl_ms) then
    return {'ttl', now_ms, max_ttl_ms, ARGV[FIRST + 3]}
end
if now < fence then
    return {'fenced', now_ms, fence}
end

-- The same request before: its grants, if all of them are live. If not, what is left is let go.
local earlier = redis.call('HGET', TOKENS, token)
if earlier then
    local reply, mine = {'ok', now_ms, 0}, {}
    for node in string.gmatch(earlier, '%d+') do
        local lease = read(node)
        if lease and lease.token == token and lease.state ~= '2' then
            if lease.state == '1' and lease.holder ~= holder then
                return {'foreign', now_ms}
            end
            local tick = end_of(node)
            if lease.state == '1' and now < tick then
                for _, part in ipairs({tonumber(node), lease.start, tick, tonumber(lease.fencing)}) do
                    reply[#reply + 1] = part
                end
            end
            mine[node] = lease
        end
    end
    if #reply == 3 + 4 * count then
        return done(reply)
    end
    for node, lease in pairs(mine) do
        lease.state = '2'
        write(node, lease)
    end
    redis.call('HDEL', TOKENS, token, token .. '#')
end

if now >= max_end then
    return {'past', now_ms}
end
-- The leases that ended first, then those never leased.
local nodes = redis.call('ZRANGEBYSCORE', ENDS, '-inf', text(now), 'LIMIT', 0, count)
local ended = #nodes
local missing = count - ended - (node_ids - unused)
if missing > 0 then
    local rank = ended + missing - 1
    return {'exhausted', now_ms, tonumber(redis.call('ZRANGE', ENDS, rank, rank, 'WITHSCORES')[2])}
end
for node = unused, unused + count - ended - 1 do
    nodes[#nodes + 1] = text(node)
end
table.sort(nodes, function(a, b) return tonumber(a) < tonumber(b) end)

local until_tick = math.min(now + ttl, max_end)
local reply = {'ok', now_ms, 0}
for _, node in ipairs(nodes) do
    local fencing = now
    local former = tonumber(node) < unused and read(node)
    if former then
        fencing = math.max(now, tonumber(former.fencing) + 1)
        if former.state ~= '2' and redis.call('HINCRBY', TOKENS, former.token .. '#', -1) == 0 then
            redis.call('HDEL', TOKENS, former.token, former.token .. '#')
        end
    end
    write(node, {state = '1', start = now, fencing = text(fencing), token = token, holder = holder})
    redis.call('ZADD', ENDS, text(until_tick), node)
    for _, part in ipairs({tonumber(node), now, until_tick, fencing}) do
        reply[#reply + 1] = part
    end
end
redis.call('HSET', TOKENS, token, table.concat(nodes, ','), token .. '#', count)
redis.call('HINCRBY', NAMESPACE, 'unused', count - ended)
note_end(until_tick)
return done(reply)
