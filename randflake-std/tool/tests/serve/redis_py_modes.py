"""Modes of redis-py that would cache ids or look for another server: prints what each is told."""

import json
import os

import redis
from redis.cache import CacheConfig
from redis.sentinel import Sentinel

settings = json.loads(os.environ["RANDFLAKE_SERVER"])
there = {"port": settings["port"], "password": settings["token"]}


def cached():
    redis.Redis(**there, protocol=3, cache_config=CacheConfig()).get("default")


def cluster():
    redis.RedisCluster(host="127.0.0.1", **there).get("default")


def sentinel():
    named = Sentinel([("127.0.0.1", settings["port"])], sentinel_kwargs={"password": settings["token"]})
    named.master_for("default").get("default")


def told(mode):
    try:
        mode()
    # Those of a cluster have a family of their own.
    except (redis.exceptions.RedisError, redis.exceptions.RedisClusterException) as error:
        return str(error)


print(json.dumps({mode.__name__: told(mode) for mode in [cached, cluster, sentinel]}))
