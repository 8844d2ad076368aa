for at = FIRST, #ARGV, 4 do
    local node = ARGV[at]
    local lease = held(node, ARGV[at + 1], ARGV[at + 2])
    if lease then
        local tick = math.max(lease.start, math.min(end_of(node), tonumber(ARGV[at + 3])))
        redis.call('ZADD', ENDS, text(tick), node)
        lease.state = '0'
        write(node, lease)
    end
end
return done({'ok', now_ms, 0})
