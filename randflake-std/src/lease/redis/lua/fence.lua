fence = math.max(fence, all_over(0))
redis.call('HSET', NAMESPACE, 'fence', text(fence))
return done({'ok', now_ms, 0, fence})
