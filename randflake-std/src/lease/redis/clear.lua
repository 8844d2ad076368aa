-- Removes the fields of a namespace's hash but for some, if its record still is what it was read as.
--
-- ARGV: the record; then the fields that stay, of which the first has the record.
local HASH = KEYS[1]

if redis.call('HMGET', HASH, ARGV[2])[1] ~= ARGV[1] then
    return
end
local fields, kept = {unpack(ARGV, 2)}, {}
for at, text in ipairs(redis.call('HMGET', HASH, unpack(fields))) do
    if text then
        kept[#kept + 1], kept[#kept + 2] = fields[at], text
    end
end
redis.call('DEL', HASH)
redis.call('HSET', HASH, unpack(kept))
