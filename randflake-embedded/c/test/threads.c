/* Threads that issue, while one renews blocks and sets the clock: only on this machine. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "suite.h"

#define THREADS 3
#define IDS_EACH 100000
#define BLOCK_S 60
#define RENEWALS 20000

static rf_t rf;
static struct device device;
static uint64_t ids[THREADS * IDS_EACH];
static uint32_t uptime_s;
static uint32_t running = THREADS, issued, exhausted;

static uint32_t load(const uint32_t *from) {
    return __atomic_load_n(from, __ATOMIC_RELAXED);
}

static uint32_t shared_uptime_s(void *user) {
    (void)user;
    return load(&uptime_s);
}

static void *issue(void *from) {
    uint64_t *mine = from;
    for (uint32_t count = 0; count < IDS_EACH;) {
        rf_status status = rf_next(&rf, &mine[count]);
        count += status == RF_OK;
        __atomic_add_fetch(status == RF_OK ? &issued : &exhausted, status != RF_NO_BLOCK, __ATOMIC_RELAXED);
    }
    __atomic_sub_fetch(&running, 1, __ATOMIC_RELAXED);
    return 0;
}

static int in_order(const void *one, const void *other) {
    uint64_t left = *(const uint64_t *)one, right = *(const uint64_t *)other;
    return (left > right) - (left < right);
}

void threads(void) {
    device.horizon = EPOCH;
    rf_config config = config_of(&device, 42, EPOCH, EPOCH + (1u << 30));
    config.uptime_s = shared_uptime_s;
    config.block_s = BLOCK_S;
    EXPECT(rf_init(&rf, &config) == RF_OK);
    EXPECT(rf_set_clock(&rf, 0, 0) == RF_OK);
    EXPECT(rf_renew(&rf) == RF_OK);
    pthread_t started[THREADS];
    for (uint32_t at = 0; at < THREADS; ++at) {
        EXPECT(pthread_create(&started[at], 0, issue, &ids[at * IDS_EACH]) == 0);
    }
    /* As often as threads have got on, and later only when a second is used up, so that the grant lasts anywhere. */
    uint32_t renewed = 0, refused = 0;
    while (load(&running) > 0) {
        uint32_t issued_before = load(&issued), exhausted_before = load(&exhausted);
        __atomic_add_fetch(&uptime_s, renewed % 2 == 0 ? 2 * BLOCK_S : 1, __ATOMIC_RELAXED);
        rf_status status;
        while ((status = rf_renew(&rf)) == RF_BUSY) {
            refused += 1;
            sched_yield();
        }
        EXPECT(status == RF_OK);
        renewed += 1;
        while (load(&running) > 0 && load(&exhausted) == exhausted_before &&
               (renewed > RENEWALS || load(&issued) == issued_before)) {
            sched_yield();
        }
    }
    for (uint32_t at = 0; at < THREADS; ++at) {
        EXPECT(pthread_join(started[at], 0) == 0);
    }
    qsort(ids, THREADS * IDS_EACH, sizeof *ids, in_order);
    uint32_t duplicates = 0;
    for (uint32_t at = 1; at < THREADS * IDS_EACH; ++at) {
        duplicates += ids[at] == ids[at - 1];
    }
    say_number(THREADS * IDS_EACH);
    say(" ids of threads, ");
    say_number(renewed);
    say(" renewals, ");
    say_number(refused);
    say(" refused while a thread was inside\n");
    EXPECT(duplicates == 0 && renewed > 1);
    test("threads");
}
