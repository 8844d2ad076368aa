-- Removes the fields of a namespace's hash but for some, if its record still is what it was read as.
--
-- KEYS: the hash; and its node ids in their order (write.lua). ARGV: the record; then the fields that stay, of which the first has the record.
local HASH, INDEX = KEYS[1], KEYS[2]

-- Also where nothing is removed: a right that is missing is told before anything is written (from Redis 7 on).
if redis.acl_check_cmd and not redis.acl_check_cmd('DEL', HASH) then
    return redis.error_reply("NOPERM no permissions to run the 'del' command")
end
if redis.call('HMGET', HASH, ARGV[2])[1] ~= ARGV[1] then
    return
end
local fields, kept = {unpack(ARGV, 2)}, {}
for at, text in ipairs(redis.call('HMGET', HASH, unpack(fields))) do
    if text then
        kept[#kept + 1], kept[#kept + 2] = fields[at], text
    end
end
redis.call('DEL', HASH, INDEX)
redis.call('HSET', HASH, unpack(kept))
-- No node id is left that could be missing in it.
redis.call('ZADD', INDEX, '-1', '')
