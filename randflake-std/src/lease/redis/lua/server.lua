-- Which server this is. A process of Redis is known by its run id, and a replica that became a master by the
-- replication id of the one that it followed; where there is none, or no more, that is all zeros.
local function info(section)
    local all = redis.call('INFO', section)
    return function(field)
        return string.match(all, '\n' .. field .. ':([^\r\n]*)') or ''
    end
end

local time = redis.call('TIME')
local run_id = info('server')('run_id')
local replication = info('replication')
local promoted = string.gsub(replication('master_replid2'), '^0*$', '')
if replication('role') == 'slave' then
    return redis.error_reply('READONLY it is a replica: name its master in the URL')
end

