return done({'ok', now_ms, 0, max_ttl_ms, fence})
