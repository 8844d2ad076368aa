/* Each two calls on one rf_t: the second comes in an interrupt, at each instruction of the first. */
#include "board.h"

#define START (EPOCH + 1000)
/* The interrupt must have come when the first call was over after so many delays in a row, so that none is left out. */
#define DELAYS_BEHIND 3u
/* How many instructions of a call the interrupts must have come before: the shortest have some thirty. */
#define MIN_INSIDE 20u

static struct device device;
static rf_t rf;
static rf_config config;
static uint32_t kept[RF_RETAINED_WORDS];
static uint64_t id_before;

/* What the first call finds, each time. */
static struct {
    struct device device;
    rf_t rf;
    uint32_t kept[RF_RETAINED_WORDS];
} found;

static rf_status init(uint64_t *id) {
    (void)id;
    return rf_init(&rf, &config);
}
static rf_status wake(uint64_t *id) {
    (void)id;
    return rf_wake(&rf, &config, kept);
}
static rf_status retain(uint64_t *id) {
    (void)id;
    return rf_retain(&rf, kept);
}
static rf_status renew(uint64_t *id) {
    (void)id;
    return rf_renew(&rf);
}
static rf_status next(uint64_t *id) {
    return rf_next(&rf, id);
}
static rf_status set_and_now(uint64_t *id) {
    (void)id;
    rf_status status = rf_set_clock(&rf, rf_now(&rf), UINT32_MAX);
    EXPECT(rf_now(&rf) == 0 || rf_now(&rf) >= START);
    return status;
}

static void set_up(void) {
    static const rf_t zero;
    static const struct device none;
    rf = zero;
    device = none;
    device.horizon = START;
    id_before = 0;
    config = config_of(&device, 42, START, EPOCH + (1u << 29));
    EXPECT(rf_init(&rf, &config) == RF_OK && rf_set_clock(&rf, 0, 0) == RF_OK);
}
static void has_block(void) {
    set_up();
    EXPECT(rf_renew(&rf) == RF_OK && rf_next(&rf, &id_before) == RF_OK);
}
static void is_used_up_by_half(void) {
    has_block();
    device.uptime_s = 40;
}
static void is_used_up(void) {
    has_block();
    device.uptime_s = 70;
}
static void has_slept(void) {
    static const rf_t zero;
    has_block();
    EXPECT(rf_retain(&rf, kept) == RF_OK);
    rf = zero;
}

struct call {
    const char *name;
    void (*prepare)(void);
    rf_status (*call)(uint64_t *id);
};

static const struct call FIRST[] = {
    {"rf_init", has_block, init},
    {"rf_wake", has_slept, wake},
    {"rf_retain", has_block, retain},
    {"rf_renew, the first block", set_up, renew},
    {"rf_renew, another block", is_used_up, renew},
    {"rf_renew, a longer block", is_used_up_by_half, renew},
    {"rf_next", has_block, next},
    {"rf_set_clock and rf_now", has_block, set_and_now},
};

static rf_status (*const SECOND[])(uint64_t *id) = {init, wake, retain, renew, next, set_and_now};

static uint64_t ids[5];
static uint32_t id_count;

static void note(rf_status status, uint64_t id) {
    if (status == RF_OK && id != 0) {
        ids[id_count++] = id;
    }
}

static uint32_t duplicates(void) {
    uint32_t count = 0;
    for (uint32_t at = 1; at < id_count; ++at) {
        for (uint32_t other = 0; other < at; ++other) {
            count += ids[at] == ids[other];
        }
    }
    return count;
}

/* An id of the block that is there now, or of another; nothing stays claimed. */
static void next_later(void) {
    uint64_t id = 0;
    rf_status status = rf_renew(&rf);
    EXPECT(status == RF_OK || status == RF_CLOCK_UNKNOWN);
    status = rf_next(&rf, &id);
    if (status == RF_CLOCK_BEHIND) {
        /* The block begins at a horizon that the clock has yet to reach. */
        device.uptime_s += 60;
        status = rf_next(&rf, &id);
    }
    note(status, id);
}

static struct {
    uint32_t runs, refused, duplicates;
} sum;

/* Whether the interrupt came in the first call. */
static bool run_pair(const struct call *first, rf_status (*second)(uint64_t *id), uint32_t delay) {
    static const rf_t zero;
    uint64_t own = 0, other = 0;
    rf_status own_status, other_status;
    device = found.device;
    rf = found.rf;
    for (uint32_t word = 0; word < RF_RETAINED_WORDS; ++word) {
        kept[word] = found.kept[word];
    }
    ids[0] = id_before;
    id_count = id_before != 0;
    bool is_inside = interrupted(first->call, &own, &own_status, second, &other, &other_status, delay);
    note(own_status, own);
    note(other_status, other);
    next_later();
    /* A reset. */
    rf = zero;
    device.uptime_s = 0;
    EXPECT(rf_init(&rf, &config) == RF_OK && rf_set_clock(&rf, 0, 0) == RF_OK);
    next_later();
    sum.runs += 1;
    sum.refused += own_status == RF_BUSY;
    sum.refused += other_status == RF_BUSY;
    sum.duplicates += duplicates();
    return is_inside;
}

void pairs(void) {
    for (uint32_t at = 0; at < sizeof FIRST / sizeof *FIRST; ++at) {
        const struct call *first = &FIRST[at];
        first->prepare();
        found.device = device;
        found.rf = rf;
        for (uint32_t word = 0; word < RF_RETAINED_WORDS; ++word) {
            found.kept[word] = kept[word];
        }
        for (uint32_t other = 0; other < sizeof SECOND / sizeof *SECOND; ++other) {
            uint32_t inside = 0, behind = 0;
            for (uint32_t delay = 1; behind < DELAYS_BEHIND; ++delay) {
                bool is_inside = run_pair(first, SECOND[other], delay);
                inside += is_inside;
                behind = is_inside ? 0 : behind + 1;
            }
            EXPECT(inside >= MIN_INSIDE);
        }
        say(first->name);
        say(": ");
        say_number(sum.runs);
        say(" runs, ");
        say_number(sum.refused);
        say(" calls refused, ");
        say_number(sum.duplicates);
        say(" duplicates\n");
    }
    EXPECT(sum.duplicates == 0 && sum.refused > 0);
    test("each_two_calls_at_each_instruction");
}
