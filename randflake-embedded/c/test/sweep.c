/* An interrupt at every instruction of a call, which calls the library too. */
#include "board.h"

/* Delays of the timer are 1, 2, 3 ... of its ticks: so many, and on until the interrupt comes when the call is over. With
 * the speed at which `cargo xtask c` runs the processor a tick is at most an instruction, so none is left out. */
#define MIN_DELAYS 1499u
#ifdef RF_BITS53
/* An id takes 26 blocks of the cipher, ten times as many instructions, in which nothing is shared. What is behind them is that
 * of 64 bits, where all of a call is looked at. */
#define MAX_DELAYS 6000u
#define IS_LOOKED_AT_WHOLE false
#else
#define MAX_DELAYS 30000u
#define IS_LOOKED_AT_WHOLE true
#endif

/* How many instructions the interrupts must have hit, which is far fewer than a call has. */
#define MIN_PLACES 50u

struct sweep {
    const char *name;
    /* The call that is interrupted, and the interrupt. Each issues an id or says why not. */
    rf_status (*call)(uint64_t *id);
    rf_status (*in_interrupt)(uint64_t *id);
    /* How often each delay is tried. */
    uint32_t rounds;
    bool duplicates_are_expected;
    bool refusals_are_expected;
};

static struct device device;
static rf_t rf, copy;
/* A bit for each two bytes of code, modulo 4 KiB. */
static uint32_t places[64];
static rf_status (*of_interrupt)(uint64_t *id);
static uint64_t id_of_interrupt;
static volatile bool is_over, came, came_when_over;
static volatile rf_status status_of_interrupt;

void interrupt(uintptr_t address) {
    came_when_over = is_over;
    if (!is_over) {
        uint32_t bit = (uint32_t)(address / 2 % (64 * 32));
        places[bit / 32] |= 1u << (bit % 32);
    }
    status_of_interrupt = of_interrupt(&id_of_interrupt);
    came = true;
}

bool interrupted(rf_status (*call)(uint64_t *id), uint64_t *id, rf_status *status, rf_status (*in_interrupt)(uint64_t *id),
                 uint64_t *other_id, rf_status *other_status, uint32_t delay) {
    of_interrupt = in_interrupt;
    id_of_interrupt = 0;
    is_over = came = false;
    interrupt_after(delay);
    *status = call(id);
    is_over = true;
    while (!came) {
    }
    *other_status = status_of_interrupt;
    *other_id = id_of_interrupt;
    return !came_when_over;
}

struct found {
    uint32_t delays, issued, duplicates, refused, places;
    bool is_whole;
    uint64_t highest;
};

static uint64_t position(uint64_t id) {
    rf_parts parts = rf_inspect(&rf, id);
    return (uint64_t)parts.unix_s << 32 | parts.sequence;
}

/* Each of a round comes after all of the round before. */
static void round(const struct sweep *sweep, struct found *found) {
    uint64_t ids[3], highest = found->highest;
    rf_status status[3];
    interrupted(sweep->call, &ids[0], &status[0], sweep->in_interrupt, &ids[1], &status[1], found->delays);
    status[2] = rf_next(&rf, &ids[2]);
    for (uint32_t at = 0; at < 3; ++at) {
        if (status[at] != RF_OK) {
            found->refused += 1;
            continue;
        }
        uint64_t mine = position(ids[at]);
        found->issued += 1;
        found->duplicates += mine <= found->highest;
        for (uint32_t other = 0; other < at; ++other) {
            found->duplicates += status[other] == RF_OK && ids[at] == ids[other];
        }
        highest = mine > highest ? mine : highest;
    }
    found->highest = highest;
}

static void begin(void) {
    static const rf_t zero;
    static const struct device none;
    device = none;
    device.horizon = EPOCH;
    rf = zero;
    rf_config config = config_of(&device, 42, EPOCH, EPOCH + (1u << 30));
    config.block_s = 32700;
    EXPECT(rf_init(&rf, &config) == RF_OK);
    EXPECT(rf_set_clock(&rf, 0, 0) == RF_OK);
    EXPECT(rf_renew(&rf) == RF_OK);
    copy = rf;
    for (uint32_t at = 0; at < 64; ++at) {
        places[at] = 0;
    }
}

static void say_found(const struct found *found) {
    say_number(found->issued);
    say(" ids, ");
    say_number(found->duplicates);
    say(" duplicates, ");
    say_number(found->refused);
    say(" refused, interrupts at ");
    say_number(found->places);
    say(" places after up to ");
    say_number(found->delays);
    say(" ticks\n");
}

static void run_sweep(const struct sweep *sweep) {
    begin();
    struct found found = {0, 0, 0, 0, 0, false, 0};
    while (found.delays < MIN_DELAYS || (!found.is_whole && found.delays < MAX_DELAYS)) {
        found.delays += 1;
        found.is_whole = true;
        for (uint32_t count = 0; count < sweep->rounds; ++count) {
            device.uptime_s += count % 2;
            round(sweep, &found);
            found.is_whole = found.is_whole && came_when_over;
        }
    }
    for (uint32_t at = 0; at < 64 * 32; ++at) {
        found.places += places[at / 32] >> (at % 32) & 1;
    }
    say_found(&found);
    EXPECT(found.is_whole || !IS_LOOKED_AT_WHOLE);
    EXPECT(found.places >= MIN_PLACES);
    EXPECT((found.duplicates > 0) == sweep->duplicates_are_expected);
    EXPECT((found.refused > 0) == sweep->refusals_are_expected);
    test(sweep->name);
}

static rf_status next(uint64_t *id) {
    return rf_next(&rf, id);
}

/* Every third time it moves the clock. */
static rf_status next_later(uint64_t *id) {
    static uint32_t calls;
    device.uptime_s += ++calls % 3 == 0;
    return rf_next(&rf, id);
}

static const struct sweep NEXT = {"preempted_next", next, next_later, 6, false, false};

#ifdef PLANTED

void preemption(void) {
    struct sweep planted = NEXT;
    planted.name = "planted_sections_that_mask_nothing_are_caught";
    planted.duplicates_are_expected = true;
    run_sweep(&planted);
}

#else

static rf_status next_of_copy(uint64_t *id) {
    return rf_next(&copy, id);
}

/* The time is past the block, so another takes its place; until then the interrupt gets none. */
static rf_status renew_and_next(uint64_t *id) {
    device.uptime_s += 33000;
    rf_status status = rf_renew(&rf);
    return status == RF_OK ? rf_next(&rf, id) : status;
}

/* The clock goes on by a second. */
static rf_status set_and_next(uint64_t *id) {
    rf_set_clock(&rf, rf_now(&rf) + 1, UINT32_MAX);
    return rf_next(&rf, id);
}

void preemption(void) {
    static const struct sweep others[] = {
        {"preempted_renew", renew_and_next, next, 2, false, true},
        {"preempted_setting_of_the_clock", set_and_next, next, 2, false, false},
        {"clock_set_in_an_interrupt", next, set_and_next, 2, false, false},
        {"planted_copy_is_caught", next, next_of_copy, 2, true, false},
    };
    run_sweep(&NEXT);
    for (uint32_t at = 0; at < sizeof others / sizeof *others; ++at) {
        run_sweep(&others[at]);
    }
}

#endif
