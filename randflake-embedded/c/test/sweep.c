/* An interrupt at every instruction of `rf_next`, which issues too. */
#include "board.h"

/* Delays of the timer are 1, 2, 3 ... of its ticks: so many, and on until the interrupt comes when the call is over. With
 * the speed at which `cargo xtask c` runs the processor a tick is at most an instruction, so none is left out. */
#define MIN_DELAYS 1499u
#define MAX_DELAYS 5000u

/* How often each delay is tried. The interrupt moves the clock every third time, and every second time the call itself
 * begins in a new second. */
#define ROUNDS 6u

/* How many instructions the interrupts must have hit, which is far fewer than a call has. */
#define MIN_PLACES 50u

static struct device device;
static rf_t rf, copy;
static rf_t *of_interrupt;
/* A bit for each two bytes of code, modulo 4 KiB. */
static uint32_t places[64];
static uint32_t interrupts;
static uint64_t id_of_interrupt;
static volatile bool is_over, came, came_when_over;
static volatile rf_status status_of_interrupt;

void interrupt(uintptr_t address) {
    came_when_over = is_over;
    if (!is_over) {
        uint32_t bit = (uint32_t)(address / 2 % (64 * 32));
        places[bit / 32] |= 1u << (bit % 32);
    }
    interrupts += 1;
    if (interrupts % 3 == 0) {
        device.uptime_s += 1;
    }
    status_of_interrupt = rf_next(of_interrupt, &id_of_interrupt);
    came = true;
}

struct found {
    uint32_t issued, duplicates, refused;
    uint64_t highest;
};

static uint64_t position(uint64_t id) {
    rf_parts parts = rf_inspect(&rf, id);
    return (uint64_t)parts.unix_s << 32 | parts.sequence;
}

/* Each of a round comes after all of the round before. */
static void round(uint32_t delay, struct found *found) {
    uint64_t ids[3];
    is_over = came = false;
    interrupt_after(delay);
    rf_status first = rf_next(&rf, &ids[0]);
    is_over = true;
    while (!came) {
    }
    ids[1] = id_of_interrupt;
    rf_status last = rf_next(&rf, &ids[2]);
    if (first != RF_OK || status_of_interrupt != RF_OK || last != RF_OK) {
        found->refused += 1;
        return;
    }
    uint64_t highest = found->highest;
    for (uint32_t at = 0; at < 3; ++at) {
        uint64_t mine = position(ids[at]);
        found->issued += 1;
        found->duplicates += mine <= found->highest;
        for (uint32_t other = 0; other < at; ++other) {
            found->duplicates += ids[at] == ids[other];
        }
        highest = mine > highest ? mine : highest;
    }
    found->highest = highest;
}

static void sweep(const char *name, bool duplicates_are_expected) {
    static const rf_t zero;
    static const struct device none;
    device = none;
    device.horizon = EPOCH;
    rf = zero;
    rf_config config = config_of(&device, 42, EPOCH, EPOCH + 100000);
    config.block_s = 32764;
    EXPECT(rf_init(&rf, &config) == RF_OK);
    EXPECT(rf_set_clock(&rf, 0, 0) == RF_OK);
    EXPECT(rf_renew(&rf) == RF_OK);
    copy = rf;

    for (uint32_t at = 0; at < 64; ++at) {
        places[at] = 0;
    }
    struct found found = {0, 0, 0, 0};
    uint32_t delays = 0;
    bool is_whole = false;
    while (delays < MIN_DELAYS || (!is_whole && delays < MAX_DELAYS)) {
        delays += 1;
        is_whole = true;
        for (uint32_t count = 0; count < ROUNDS; ++count) {
            device.uptime_s += count % 2;
            round(delays, &found);
            is_whole = is_whole && came_when_over;
        }
    }
    uint32_t hit = 0;
    for (uint32_t at = 0; at < 64 * 32; ++at) {
        hit += places[at / 32] >> (at % 32) & 1;
    }
    say_number(found.issued);
    say(" ids, ");
    say_number(found.duplicates);
    say(" duplicates, interrupts at ");
    say_number(hit);
    say(" places after up to ");
    say_number(delays);
    say(" ticks\n");
    EXPECT(is_whole && hit >= MIN_PLACES && found.refused == 0);
    EXPECT((found.duplicates > 0) == duplicates_are_expected);
    test(name);
}

void preemption(void) {
    of_interrupt = &rf;
#ifdef PLANTED
    sweep("planted_sections_that_mask_nothing_are_caught", true);
#else
    sweep("preempted_next", false);
    of_interrupt = &copy;
    sweep("planted_copy_is_caught", true);
#endif
}
