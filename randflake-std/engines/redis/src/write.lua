-- Writes to a namespace's hash, if everything still is what it was read as.
--
-- KEYS: the hash; and its node ids in their order, which the fields of a hash do not have: a sorted set whose scores are
-- the node ids. Its first member, with a score of -1, comes with the namespace's record: without it some node ids may be
-- missing there.
--
-- ARGV: the server's process; the master that it took over from; commands that put keys back, and how often they were called, if
-- that matters; between which times in microseconds, if that matters; the entry by which a repetition is known, or 0;
-- then for each entry its field, the text before ('*': whatever it is), and the text after. Nothing stands for a text
-- that is not there, or stays.
local HASH, INDEX, FIRST = KEYS[1], KEYS[2], 8
local replacing, least, most = ARGV[3], tonumber(ARGV[5]), tonumber(ARGV[6])
local proof = FIRST + 3 * (ARGV[7] - 1)

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- A server of before 7 takes one section at a time, and has no number of its version here.
local sections = replacing == '' and {'server', 'replication'} or {'server', 'replication', 'commandstats'}
local info
if redis.REDIS_VERSION_NUM then
    info = redis.call('INFO', unpack(sections))
else
    local parts = {}
    for at, section in ipairs(sections) do
        parts[at] = redis.call('INFO', section)
    end
    info = table.concat(parts, '\n')
end
if string.find(info, '\nrole:slave', 1, true) then
    return redis.error_reply('READONLY it is a replica: name its master in the URL')
end
local promoted = string.match(info, '\nmaster_replid2:0*(%x*)') or ''
-- A proxy may keep its clients' connections while it connects to another server.
local is_same = string.match(info, '\nrun_id:(%x*)') == ARGV[1]
local is_so = is_same and (promoted == '' or promoted == ARGV[2]) and (not least or (least <= now and now <= most))
if replacing ~= '' then
    local replaced = 0
    for name in string.gmatch(replacing, '%S+') do
        local _, last = string.find(info, '\ncmdstat_' .. name .. ':calls=', 1, true)
        replaced = replaced + (last and string.match(info, '^%d+', last + 1) or 0)
    end
    is_so = is_so and replaced == tonumber(ARGV[4])
end

-- As many fields at once as the stack of a call has room for.
local function batches(take)
    for first = FIRST, #ARGV, 3000 do
        take(first, math.min(first + 2999, #ARGV))
    end
end

local is_written, new = false, {}
batches(function(first, last)
    local fields = {}
    for at = first, last, 3 do
        fields[#fields + 1] = ARGV[at]
    end
    local texts = redis.call('HMGET', HASH, unpack(fields))
    for at = first, last, 3 do
        local there, before = texts[(at - first) / 3 + 1] or '', ARGV[at + 1]
        is_written = is_written or (is_same and at == proof and there == ARGV[at + 2])
        is_so = is_so and (before == '*' or there == before)
        if there == '' and ARGV[at + 2] ~= '' then
            local name = ARGV[at]
            if name == 'namespace' then
                new[#new + 1], new[#new + 2] = '-1', ''
            elseif string.match(name, '^%d+$') then
                new[#new + 1], new[#new + 2] = name, name
            end
        end
    end
end)
if is_written or not is_so then
    return {is_written and 1 or 0, time}
end
-- Before the fields: a right that is missing is told before any of them is written, and a member without a field harms nobody.
for first = 1, #new, 3000 do
    redis.call('ZADD', INDEX, unpack(new, first, math.min(first + 2999, #new)))
end
batches(function(first, last)
    local puts = {}
    for at = first, last, 3 do
        if ARGV[at + 2] ~= '' then
            puts[#puts + 1], puts[#puts + 2] = ARGV[at], ARGV[at + 2]
        end
    end
    if #puts > 0 then
        redis.call('HSET', HASH, unpack(puts))
    end
end)
return {1, time}
