-- Puts the claim of a secret unless there is one; returns the one that is there then.
--
-- ARGV: the claim.
local there = redis.call('HMGET', KEYS[1], 'claim')[1]
if not there then
    redis.call('HSET', KEYS[1], 'claim', ARGV[1])
end
return there or ARGV[1]
