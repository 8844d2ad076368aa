#!/bin/sh
# Runs a program whose wall clock shows RANDFLAKE_MOMENT, a Unix time, when it begins. What it starts has the same clock.
offset=$((RANDFLAKE_MOMENT - $(date +%s)))
exec env LD_PRELOAD="$RANDFLAKE_LIBFAKETIME" FAKETIME="$(printf %+d "$offset")" DONT_FAKE_MONOTONIC=1 "$@"
