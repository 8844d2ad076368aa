-- Put before each script: names the commands that the user may not run, before any of them writes.
--
-- Redis 7 can be asked. Before, each command is called so that it changes nothing: for a key that is not there,
-- or with arguments that it refuses only after the user's rights were checked.
local NONE = KEYS[1] .. ':none'

local function is_allowed(call)
    if redis.acl_check_cmd then
        return redis.acl_check_cmd(unpack(call))
    end
    local answer = redis.pcall(unpack(call))
    return type(answer) ~= 'table' or not answer.err or not string.find(answer.err, "can't run", 1, true)
end

local lacking = {'RIGHTS'}
for _, call in ipairs({
    {'INFO', 'server'}, {'TIME'}, {'GET', NONE}, {'SET', NONE, '', 'XX'}, {'HGETALL', NONE}, {'HLEN', NONE},
    {'HMGET', NONE, ''}, {'HSET', NONE, '', '', ''}, {'ZADD', NONE, '', ''}, {'ZCARD', NONE},
    {'ZCOUNT', NONE, 0, 0}, {'ZRANGE', NONE, 0, 0}, {'ZSCORE', NONE, ''},
}) do
    if not is_allowed(call) then
        lacking[#lacking + 1] = string.lower(call[1])
    end
end
if #lacking > 1 then
    return redis.error_reply(table.concat(lacking, ' '))
end

