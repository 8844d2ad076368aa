/* The horizon in raw flash, on one whose operations are cut or fail, and leave slots that read as anything. */
#include "suite.h"

#define PAGES 3
#define SLOTS 8
#define ALL_SLOTS (PAGES * SLOTS)
#define RAISES 10
#define STEP_S 60
#define NEVER UINT32_MAX
#define MAX_BLOCK_S 32700

static struct {
    uint32_t slot_size;
    uint8_t now[ALL_SLOTS * 32], before[ALL_SLOTS * 32];
    /* Reads as what is there now, what was there before, noise, or a fault: each time anew. */
    bool torn[ALL_SLOTS];
    /* The operation that power is cut in; nothing works from then on until the next start. */
    uint32_t cut_at, operations;
    bool off;
    /* One of so many operations is reported as failed, done or not. */
    uint32_t fails_one_in;
    uint32_t seed;
    /* A byte of which a bit reads as 0 forever; 0 for none. */
    uint32_t dead;
} part;

static rf_flash flash;

/* What ids were issued up to. */
static uint32_t answered;
static uint32_t unanswered_in_a_row, falls, refusals;

static uint32_t chance(void) {
    part.seed ^= part.seed << 13;
    part.seed ^= part.seed >> 17;
    part.seed ^= part.seed << 5;
    return part.seed >> 4;
}

static uint32_t slot_at(uint32_t at) {
    uint32_t slot = 0;
    for (; at >= part.slot_size; at -= part.slot_size) {
        ++slot;
    }
    EXPECT(at == 0 && slot < ALL_SLOTS);
    return slot;
}

static int32_t read(void *context, uint32_t at, uint8_t *to, uint32_t len) {
    EXPECT(context == &part && len == part.slot_size && ((uintptr_t)to & 7) == 0);
    uint32_t shown = part.torn[slot_at(at)] ? chance() & 3 : 0;
    for (uint32_t byte = 0; byte < len; ++byte) {
        to[byte] = shown == 0 ? part.now[at + byte] : shown == 1 ? part.before[at + byte] : (uint8_t)chance();
    }
    if (part.dead >= at && part.dead < at + len && part.dead != 0) {
        to[part.dead - at] &= 0xfe;
    }
    return shown == 3 || part.off ? -1 : 0;
}

enum outcome { DONE, DONE_BUT_FAILED, NOT_DONE, TORN };

static enum outcome next_outcome(void) {
    if (part.off) {
        return NOT_DONE;
    }
    part.off = part.operations == part.cut_at;
    ++part.operations;
    if (part.off) {
        return TORN;
    }
    if (part.fails_one_in != 0 && (chance() & (part.fails_one_in - 1)) == 0) {
        return (enum outcome)(1 + (chance() & 1));
    }
    return DONE;
}

static void change(uint32_t slot, const uint8_t *from, enum outcome outcome) {
    if (outcome == NOT_DONE) {
        return;
    }
    for (uint32_t byte = 0; byte < part.slot_size; ++byte) {
        uint32_t at = slot * part.slot_size + byte;
        part.before[at] = part.now[at];
        part.now[at] = from == 0 ? 0xff : (uint8_t)(part.now[at] & from[byte]);
    }
    part.torn[slot] = outcome == TORN;
}

static int32_t program(void *context, uint32_t at, const uint8_t *from, uint32_t len) {
    EXPECT(context == &part && len == part.slot_size && ((uintptr_t)from & 7) == 0);
    uint32_t slot = slot_at(at);
    /* A page whose erase has failed is marked, no matter what is there. */
    bool is_mark = rf_read_record(from) == 56;
    for (uint32_t byte = 0; byte < len; ++byte) {
        EXPECT(part.off || is_mark || (part.now[at + byte] == 0xff && !part.torn[slot]));
    }
    enum outcome outcome = next_outcome();
    change(slot, from, outcome);
    return outcome == DONE ? 0 : -1;
}

static int32_t erase(void *context, uint32_t at) {
    EXPECT(context == &part);
    uint32_t first = slot_at(at);
    enum outcome outcome = next_outcome();
    for (uint32_t slot = first; slot < first + SLOTS; ++slot) {
        change(slot, 0, outcome);
    }
    return outcome == DONE ? 0 : -1;
}

static void describe(void) {
    static const rf_flash none;
    flash = none;
    flash.page_size = SLOTS * part.slot_size;
    flash.pages = PAGES;
    flash.slot_size = part.slot_size;
    flash.read = read;
    flash.program = program;
    flash.erase = erase;
    flash.context = &part;
}

/* A start of the device, with raises as blocks are begun. Returns how many operations it took. */
static uint32_t start(uint32_t cut_at, uint32_t fails_one_in, uint32_t raises) {
    part.off = false;
    part.operations = 0;
    part.cut_at = cut_at;
    part.fails_one_in = fails_one_in;
    describe();
    if (rf_flash_open(&flash) != RF_OK) {
        refusals += 1;
        return 0;
    }
    falls += rf_flash_horizon(&flash) < answered;
    for (uint32_t raise = 0; raise < raises && !part.off; ++raise) {
        uint32_t horizon = rf_flash_horizon(&flash);
        uint32_t to = (horizon < EPOCH ? EPOCH : horizon) + STEP_S;
        bool is_calm = cut_at == NEVER && part.fails_one_in == 0;
        if (rf_flash_raise(&flash, to) == 0) {
            EXPECT(!part.off && rf_flash_horizon(&flash) >= to);
            answered = rf_flash_horizon(&flash);
            unanswered_in_a_row = 0;
        } else {
            refusals += is_calm;
            unanswered_in_a_row += 1;
            /* The third in a row is whole. */
            part.fails_one_in = unanswered_in_a_row < 2 ? part.fails_one_in : 0;
        }
        /* Now and then there is time for an erase, which counts as a raise if it fails. */
        if ((raise & 3) == 3 && unanswered_in_a_row == 0 && rf_flash_erase_ahead(&flash, 3) != RF_OK) {
            EXPECT(rf_flash_horizon(&flash) == answered);
            unanswered_in_a_row += 1;
        }
    }
    return part.operations;
}

static void provision(uint32_t slot_size, uint32_t seed) {
    part.slot_size = slot_size;
    part.seed = seed;
    part.off = false;
    answered = unanswered_in_a_row = 0;
    for (uint32_t slot = 0; slot < ALL_SLOTS; ++slot) {
        change(slot, 0, DONE);
    }
    start(NEVER, 0, 3);
}

/* Each operation of two starts in a row is cut. */
static void cut_all(uint32_t slot_size, uint32_t seed) {
    uint32_t first = 0, second = 0;
    do {
        do {
            provision(slot_size, seed + first * 64 + second);
            uint32_t operations = start(first, 0, RAISES);
            if (!part.off) {
                EXPECT(operations > RAISES);
                return;
            }
            start(second, 0, RAISES);
            ++second;
            bool is_over = !part.off;
            start(NEVER, 0, 2);
            start(NEVER, 0, 1);
            if (is_over) {
                break;
            }
        } while (true);
        second = 0;
        ++first;
    } while (true);
}

static void cuts(uint32_t seeds) {
    falls = refusals = 0;
    for (uint32_t seed = 1; seed <= seeds; ++seed) {
        for (uint32_t slot_size = 8; slot_size <= 32; slot_size *= 2) {
            cut_all(slot_size, seed * 7919);
        }
    }
    EXPECT(falls == 0 && refusals == 0);
    test("raw_flash_keeps_the_horizon_whichever_two_operations_are_cut");
}

/* Cuts and failures by chance, never more than two raises without an answer in a row. */
static void noise(uint32_t starts) {
    falls = refusals = 0;
    provision(16, 77);
    uint32_t cut = 0;
    for (uint32_t count = 0; count < starts; ++count) {
        bool is_cut = unanswered_in_a_row < 2 && (chance() & 1) != 0;
        uint32_t raises = 1 + (chance() & 15);
        uint32_t fails_one_in = is_cut || unanswered_in_a_row >= 2 ? 0 : 8;
        start(is_cut ? chance() & 15 : NEVER, fails_one_in, raises);
        cut += part.off;
    }
    say_number(cut);
    say(" power cuts by chance\n");
    EXPECT(falls == 0 && refusals == 0 && cut > starts / 8);
    test("raw_flash_keeps_the_horizon_through_cuts_and_failures");
}

/* A device that uses what no raise has answered. */
static void planted(void) {
    falls = 0;
    uint32_t cut = 0;
    do {
        provision(8, 5);
        start(cut, 0, 1);
        answered += STEP_S;
        ++cut;
        bool is_over = !part.off;
        start(NEVER, 0, 1);
        if (is_over) {
            break;
        }
    } while (true);
    EXPECT(falls > 0);
    test("a_device_that_does_not_wait_for_an_answer_is_caught");
}

static void refused_sizes(void) {
    static const uint32_t sizes[][3] = {{256, 2, 8}, {256, 1025, 8},     {24, 3, 8},  {256, 3, 4},
                                        {256, 3, 64}, {1 << 21, 3, 8}, {100, 3, 16}, {256, 0, 0}};
    provision(8, 1);
    EXPECT(rf_flash_open(0) == RF_NULL && rf_flash_horizon(0) == 0 && rf_flash_raise(0, EPOCH) == RF_NULL);
    EXPECT(rf_flash_erase_ahead(0, 1) == RF_NULL);
    for (uint32_t at = 0; at < sizeof sizes / sizeof *sizes; ++at) {
        flash.page_size = sizes[at][0];
        flash.pages = sizes[at][1];
        flash.slot_size = sizes[at][2];
        EXPECT(rf_flash_open(&flash) == RF_FLASH_PAGES);
        EXPECT(rf_flash_horizon(&flash) == 0 && rf_flash_raise(&flash, EPOCH) != 0);
    }
    describe();
    EXPECT(rf_flash_horizon(&flash) == 0 && rf_flash_raise(&flash, EPOCH) == RF_NULL);
    flash.erase = 0;
    EXPECT(rf_flash_open(&flash) == RF_NULL);
    /* The seal of a later version. */
    describe();
    uint32_t kept = rf_flash_open(&flash) == RF_OK ? 0 : 1;
    for (; part.now[kept * SLOTS * 8] == 0xff; ++kept) {
    }
    rf_write_record(4 * 240, &part.now[(kept * SLOTS + 1) * 8]);
    EXPECT(rf_flash_open(&flash) == RF_FLASH_FORMAT);
    test("flash_of_another_size_or_format_is_refused");
}

/* Any one bit that changes, in a record or behind it. */
static void changed_bits(void) {
    for (uint32_t slot_size = 8; slot_size <= 32; slot_size <<= 1) {
        provision(slot_size, 7);
        describe();
        EXPECT(rf_flash_open(&flash) == RF_OK);
        uint32_t horizon = rf_flash_horizon(&flash);
        EXPECT(horizon >= answered && answered > EPOCH);
        for (uint32_t byte = 0; byte < ALL_SLOTS * slot_size; ++byte) {
            for (uint32_t bit = 1; bit < 256; bit <<= 1) {
                part.now[byte] ^= (uint8_t)bit;
                EXPECT(rf_flash_open(&flash) == RF_OK && rf_flash_horizon(&flash) == horizon);
                part.now[byte] ^= (uint8_t)bit;
            }
        }
    }
    test("a_bit_that_changes_does_not_lower_the_horizon");
}

/* A record with a dead bit behind it would not withstand a changed one. */
static void dead_bits(void) {
    for (uint32_t byte = 16; byte < 3 * 16; byte += byte == 31 ? 9 : 1) {
        if (byte % 16 < 8) {
            continue;
        }
        provision(16, 9);
        part.dead = SLOTS * 16 + byte;
        falls = refusals = 0;
        for (uint32_t count = 0; count < 4; ++count) {
            start(NEVER, 0, 3);
            for (uint32_t at = SLOTS * 16; at < 2 * SLOTS * 16; ++at) {
                part.now[at] ^= 0x80;
                EXPECT(rf_flash_open(&flash) == RF_OK && rf_flash_horizon(&flash) >= answered);
                part.now[at] ^= 0x80;
            }
        }
        EXPECT(falls == 0 && refusals == 0);
        part.dead = 0;
    }
    test("a_dead_bit_behind_a_record_is_left");
}

/* With time between them, no raise of a start but the first waits for an erase. */
static void ahead(void) {
    provision(8, 11);
    start(NEVER, 0, 1);
    for (uint32_t count = 0; count < 100; ++count) {
        part.operations = 0;
        EXPECT(rf_flash_raise(&flash, rf_flash_horizon(&flash) + STEP_S) == RF_OK && part.operations == 1);
        EXPECT(rf_flash_erase_ahead(&flash, 1) == RF_OK);
    }
    part.operations = 0;
    EXPECT(rf_flash_erase_ahead(&flash, UINT32_MAX) == RF_OK && part.operations == 3);
    EXPECT(rf_flash_erase_ahead(&flash, UINT32_MAX) == RF_OK && part.operations == 3);
    test("no_raise_waits_for_an_erase");
}

static uint32_t uptime_s(void *user) {
    EXPECT(user == &flash);
    return 0;
}

/* The whole library over raw flash, through starts that keep nothing else. */
static void device(void) {
    static rf_t rf;
    struct device unused = {0};
    rf_config config = config_of(&unused, 42, EPOCH, EPOCH + 100000);
    config.uptime_s = uptime_s;
    config.read_horizon = rf_flash_horizon;
    config.raise_horizon = rf_flash_raise;
    config.user = &flash;
    provision(32, 3);
    for (uint32_t slot = 0; slot < ALL_SLOTS; ++slot) {
        change(slot, 0, DONE);
    }
    describe();
    EXPECT(rf_flash_open(&flash) == RF_OK && rf_init(&rf, &config) == RF_HORIZON_LOST);
    EXPECT(rf_provision(&config) == RF_OK && rf_provision(&config) == RF_PROVISIONED);
    uint32_t last_unix_s = 0;
    for (uint32_t count = 0; count < 40; ++count) {
        uint64_t id;
        part.off = false;
        part.operations = 0;
        part.cut_at = count & 1 ? chance() & 7 : NEVER;
        describe();
        EXPECT(rf_flash_open(&flash) == RF_OK && rf_init(&rf, &config) == RF_OK);
        EXPECT(rf_set_clock(&rf, 0, 0) == RF_OK);
        if (rf_renew(&rf) == RF_OK) {
            EXPECT(rf_next(&rf, &id) == RF_OK && rf_inspect(&rf, id).unix_s > last_unix_s);
            last_unix_s = rf_inspect(&rf, id).unix_s;
        } else {
            EXPECT(part.off);
        }
    }
    EXPECT(last_unix_s > EPOCH + 20 * STEP_S);
    test("a_device_over_raw_flash_issues_no_id_twice");
}

/* Raises that failed leave the horizon higher than asked, and the longest block is longer by that, or cut. */
static void long_block_after_failures(uint32_t failures) {
    static const rf_t zero;
    static rf_t rf;
    rf = zero;
    struct device unused = {0};
    rf_config config = config_of(&unused, 42, EPOCH, EPOCH + 100000);
    config.uptime_s = uptime_s;
    config.read_horizon = rf_flash_horizon;
    config.raise_horizon = rf_flash_raise;
    config.user = &flash;
    config.block_s = MAX_BLOCK_S;
    provision(8, 3);
    describe();
    EXPECT(rf_flash_open(&flash) == RF_OK && rf_init(&rf, &config) == RF_OK && rf_set_clock(&rf, 0, 0) == RF_OK);
    /* All fail. */
    part.fails_one_in = 1;
    for (uint32_t count = 0; count < failures; ++count) {
        EXPECT(rf_renew(&rf) == RF_HORIZON_STORE);
    }
    part.fails_one_in = 0;
    uint32_t before = rf_flash_horizon(&flash);
    EXPECT(rf_renew(&rf) == RF_OK && rf_flash_horizon(&flash) >= before + MAX_BLOCK_S);
    uint64_t id;
    EXPECT(rf_next(&rf, &id) == RF_OK);
}

/* A block that is extended after them goes on, too: the clock shows its last second but one. */
static void extension_after_failures(uint32_t failures) {
    /* Two of them are as long as the longest. */
    const uint32_t block_s = MAX_BLOCK_S / 2 - 2;
    static const rf_t zero;
    static rf_t rf;
    rf = zero;
    struct device unused = {0};
    rf_config config = config_of(&unused, 42, EPOCH, EPOCH + 100000);
    config.uptime_s = uptime_s;
    config.read_horizon = rf_flash_horizon;
    config.raise_horizon = rf_flash_raise;
    config.user = &flash;
    config.block_s = block_s;
    provision(8, 3);
    describe();
    EXPECT(rf_flash_open(&flash) == RF_OK && rf_init(&rf, &config) == RF_OK && rf_set_clock(&rf, 0, 0) == RF_OK);
    EXPECT(rf_renew(&rf) == RF_OK);
    uint32_t end = rf_flash_horizon(&flash);
    EXPECT(rf_set_clock(&rf, end - 1, UINT32_MAX) == RF_OK);
    part.fails_one_in = 1;
    for (uint32_t count = 0; count < failures; ++count) {
        EXPECT(rf_renew(&rf) == RF_HORIZON_STORE);
    }
    part.fails_one_in = 0;
    EXPECT(rf_renew(&rf) == RF_OK && rf_renew(&rf) == RF_OK);
    EXPECT(rf_set_clock(&rf, end + block_s - 1, UINT32_MAX) == RF_OK);
    uint64_t id;
    EXPECT(rf_next(&rf, &id) == RF_OK && rf_renew(&rf) == RF_OK);
}

static void long_blocks_after_failures(void) {
    for (uint32_t failures = 0; failures < 100; failures = 2 * failures + 1) {
        long_block_after_failures(failures);
        extension_after_failures(failures);
    }
    test("the_longest_block_may_follow_failures");
}

void raw_flash(uint32_t seeds) {
    refused_sizes();
    changed_bits();
    dead_bits();
    ahead();
    device();
    long_blocks_after_failures();
    planted();
    cuts(seeds);
    noise(seeds * 2000);
}
