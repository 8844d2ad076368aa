/* Each call, and each error that it can return. */
#include "suite.h"

#define START (EPOCH + 1000)
#define END (EPOCH + 100000)

static struct device device;
static rf_t rf;
static rf_config config;
static uint64_t id;
static volatile uint32_t kept[RF_RETAINED_WORDS];

static void forget(void) {
    static const rf_t zero;
    static const struct device none;
    rf = zero;
    device = none;
    device.horizon = START;
    config = config_of(&device, 42, START, END);
    id = 99;
}

/* Up to a block in force. */
static void start(void) {
    forget();
    EXPECT(rf_init(&rf, &config) == RF_OK);
    EXPECT(rf_set_clock(&rf, 0, 0) == RF_OK);
    EXPECT(rf_renew(&rf) == RF_OK);
}

static void issues(uint32_t unix_s, uint32_t sequence) {
    EXPECT(rf_next(&rf, &id) == RF_OK);
    rf_parts parts = rf_inspect(&rf, id);
    EXPECT(parts.unix_s == unix_s && parts.node_id == 42 && parts.sequence == sequence);
}

static void before_init(void) {
    forget();
    EXPECT(rf_next(&rf, &id) == RF_NO_BLOCK && id == 99);
    EXPECT(rf_now(&rf) == 0);
    EXPECT(rf_renew(&rf) == RF_NULL);
    EXPECT(rf_set_clock(&rf, START, UINT32_MAX) == RF_NULL);
    EXPECT(rf_init(0, &config) == RF_NULL);
    EXPECT(rf_init(&rf, 0) == RF_NULL);
    EXPECT(rf_provision(0) == RF_NULL);
    test("nothing_before_init");
}

/* One rule for all: RF_NULL, or 0, and nothing was written. */
static void nulls(void) {
    uint8_t bytes[RF_TICKET_SIZE] = {0};
    uint32_t counter = 0;
    rf_grant grant = {1, 2, 3};
    start();
    EXPECT(rf_init(0, &config) == RF_NULL && rf_init(&rf, 0) == RF_NULL && rf_provision(0) == RF_NULL);
    EXPECT(rf_set_clock(0, START, 0) == RF_NULL && rf_now(0) == 0 && rf_renew(0) == RF_NULL);
    EXPECT(rf_next(0, &id) == RF_NULL && rf_next(&rf, 0) == RF_NULL && id == 99);
    EXPECT(rf_retain(0, kept) == RF_NULL && rf_retain(&rf, 0) == RF_NULL);
    EXPECT(rf_wake(0, &config, kept) == RF_NULL && rf_wake(&rf, 0, kept) == RF_NULL && rf_wake(&rf, &config, 0) == RF_NULL);
    rf_parts parts = rf_inspect(0, 1);
    EXPECT(parts.unix_s == 0 && parts.node_id == 0 && parts.sequence == 0);
    EXPECT(rf_text(1, 0) == 0 && rf_parse(0, 1, &id) == RF_NULL && rf_parse("1", 1, 0) == RF_NULL && id == 99);
    rf_write_record(START, 0);
    EXPECT(rf_read_record(0) == 0);
    EXPECT(rf_read_grant(0, &grant) == RF_NULL && rf_read_grant(bytes, 0) == RF_NULL);
    EXPECT(rf_accept_ticket(0, bytes, 1, 0, &counter, &grant) == RF_NULL);
    EXPECT(rf_accept_ticket(bytes, 0, 1, 0, &counter, &grant) == RF_NULL);
    EXPECT(rf_accept_ticket(bytes, bytes, 1, 0, 0, &grant) == RF_NULL);
    EXPECT(rf_accept_ticket(bytes, bytes, 1, 0, &counter, 0) == RF_NULL);
    EXPECT(counter == 0 && grant.node_id == 1 && grant.start_unix_s == 2 && grant.end_unix_s == 3);
    EXPECT(rf_flash_open(0) == RF_NULL && rf_flash_horizon(0) == 0 && rf_flash_raise(0, START) == RF_NULL);
    EXPECT(rf_flash_erase_ahead(0, 1) == RF_NULL);
    /* Nothing was disturbed. */
    issues(START, 0);
    test("null_is_refused_by_each_function");
}

static void init_with(rf_status expected) {
    EXPECT(rf_init(&rf, &config) == expected);
    EXPECT(rf_renew(&rf) == RF_NULL);
    forget();
}

static void bad_configs(void) {
    forget();
    config.key = 0;
    init_with(RF_NULL);
    config.uptime_s = 0;
    init_with(RF_NULL);
    config.read_horizon = 0;
    init_with(RF_NULL);
    config.raise_horizon = 0;
    init_with(RF_NULL);
    config.grant.node_id = RF_MAX_NODE_ID + 1;
    init_with(RF_NODE_ID);
    /* Blank flash, whose times count from the layout's epoch. */
    config.grant.node_id = UINT32_MAX;
    config.grant.start_unix_s = UINT32_MAX + EPOCH;
    config.grant.end_unix_s = UINT32_MAX + EPOCH;
    init_with(RF_NOT_PROVISIONED);
    config.grant.end_unix_s = START;
    init_with(RF_GRANT);
    config.grant.start_unix_s = EPOCH - 1;
    init_with(RF_GRANT);
    config.grant.start_unix_s = 0;
    config.grant.end_unix_s = 1;
    init_with(RF_GRANT);
    config.grant.end_unix_s = EPOCH + (1u << 30) + 1;
    init_with(RF_GRANT);
    config.block_s = 32701;
    init_with(RF_BLOCK);
    device.horizon = 0;
    init_with(RF_HORIZON_LOST);
    device.horizon = END;
    init_with(RF_GRANT_USED);
    config.grant.node_id = RF_MAX_NODE_ID;
    config.grant.start_unix_s = EPOCH;
    config.grant.end_unix_s = EPOCH + (1u << 30);
    config.block_s = 32700;
    EXPECT(rf_init(&rf, &config) == RF_OK);
    test("bad_configs_are_refused");
}

static void provisioning(void) {
    forget();
    EXPECT(rf_provision(&config) == RF_PROVISIONED && device.raised == 0);
    device.horizon = 0;
    config.block_s = 32701;
    EXPECT(rf_provision(&config) == RF_BLOCK);
    config.block_s = 0;
    device.fails = true;
    EXPECT(rf_provision(&config) == RF_HORIZON_STORE);
    device.fails = false;
    device.forgets = true;
    EXPECT(rf_provision(&config) == RF_HORIZON_STORE);
    device.forgets = false;
    EXPECT(rf_provision(&config) == RF_OK && device.horizon == START);
    EXPECT(rf_init(&rf, &config) == RF_OK);
    test("a_device_is_provisioned_once");
}

static void clock(void) {
    forget();
    device.uptime_s = 7;
    EXPECT(rf_init(&rf, &config) == RF_OK);
    EXPECT(rf_now(&rf) == 0);
    EXPECT(rf_renew(&rf) == RF_CLOCK_UNKNOWN && device.raised == 0);
    EXPECT(rf_next(&rf, &id) == RF_NO_BLOCK);
    EXPECT(rf_set_clock(&rf, 0, 0) == RF_OK && rf_now(&rf) == START);
    device.uptime_s += 5;
    EXPECT(rf_now(&rf) == START + 5);
    EXPECT(rf_set_clock(&rf, START + 500, 60) == RF_OK && rf_now(&rf) == START + 65);
    EXPECT(rf_set_clock(&rf, START + 500, UINT32_MAX) == RF_OK && rf_now(&rf) == START + 500);
    EXPECT(rf_set_clock(&rf, START + 20, 0) == RF_OK && rf_now(&rf) == START + 20);
    EXPECT(rf_set_clock(&rf, UINT32_MAX, UINT32_MAX) == RF_OK && rf_now(&rf) == END);
    forget();
    device.horizon = START + 300;
    EXPECT(rf_init(&rf, &config) == RF_OK);
    EXPECT(rf_set_clock(&rf, START + 900, 60) == RF_OK && rf_now(&rf) == START + 360);
    EXPECT(rf_set_clock(&rf, START + 1, 60) == RF_OK && rf_now(&rf) == START + 300);
    /* A real-time clock that counts Unix time. */
    device.uptime_s = START + 400;
    EXPECT(rf_set_clock(&rf, START + 400, UINT32_MAX) == RF_OK && rf_now(&rf) == START + 401);
    test("a_clock_is_set_within_bounds");
}

static void blocks(void) {
    start();
    EXPECT(device.raised == 1 && device.horizon == START + 60);
    issues(START, 0);
    issues(START, 1);
    device.uptime_s = 1;
    issues(START + 1, 0);

    /* More than half of it is left. */
    device.uptime_s = 29;
    EXPECT(rf_renew(&rf) == RF_OK && device.raised == 1);
    device.uptime_s = 30;
    device.fails = true;
    EXPECT(rf_renew(&rf) == RF_HORIZON_STORE);
    issues(START + 30, 0);
    device.fails = false;
    EXPECT(rf_renew(&rf) == RF_OK && device.raised == 2 && device.horizon == START + 120);
    issues(START + 30, 1);
    device.uptime_s = 119;
    issues(START + 119, 0);

    device.uptime_s = 120;
    id = 99;
    EXPECT(rf_next(&rf, &id) == RF_NO_BLOCK && id == 99);
    device.uptime_s = 1000;
    EXPECT(rf_renew(&rf) == RF_OK && device.raised == 3 && device.horizon == START + 1060);
    issues(START + 1000, 0);

    EXPECT(rf_set_clock(&rf, START + 990, 0) == RF_OK);
    EXPECT(rf_next(&rf, &id) == RF_CLOCK_BEHIND);
    EXPECT(rf_renew(&rf) == RF_OK && device.raised == 3);
    device.uptime_s += 10;
    issues(START + 1000, 1);

    /* Again, as after a reset: past all that was issued. */
    EXPECT(rf_init(&rf, &config) == RF_OK);
    EXPECT(rf_next(&rf, &id) == RF_NO_BLOCK);
    EXPECT(rf_now(&rf) == START + 1000);
    EXPECT(rf_renew(&rf) == RF_OK && device.horizon == START + 1120);
    EXPECT(rf_next(&rf, &id) == RF_CLOCK_BEHIND);
    device.uptime_s += 60;
    issues(START + 1060, 0);
    test("blocks_are_begun_and_extended");
}

static void long_blocks(void) {
    forget();
    config.block_s = 20000;
    EXPECT(rf_init(&rf, &config) == RF_OK);
    EXPECT(rf_set_clock(&rf, 0, 0) == RF_OK);
    EXPECT(rf_renew(&rf) == RF_OK && device.horizon == START + 20000);
    /* Two are more than the word counts. */
    device.uptime_s = 19999;
    EXPECT(rf_renew(&rf) == RF_OK && device.raised == 1);
    issues(START + 19999, 0);
    device.uptime_s = 20000;
    EXPECT(rf_renew(&rf) == RF_OK && device.horizon == START + 40000);
    issues(START + 20000, 0);
    test("a_block_that_cannot_be_extended_is_followed_by_another");
}

static void ends(void) {
    forget();
    config.grant.end_unix_s = START + 70;
    EXPECT(rf_init(&rf, &config) == RF_OK);
    EXPECT(rf_set_clock(&rf, 0, 0) == RF_OK);
    EXPECT(rf_renew(&rf) == RF_OK);
    device.uptime_s = 40;
    EXPECT(rf_renew(&rf) == RF_OK);
    EXPECT(rf_renew(&rf) == RF_GRANT_USED);
    device.uptime_s = 69;
    issues(START + 69, 0);
    device.uptime_s = 70;
    EXPECT(rf_next(&rf, &id) == RF_NO_BLOCK);
    EXPECT(rf_renew(&rf) == RF_GRANT_USED);
    test("a_grant_ends");
}

/* A time at which nothing is left of the grant; then the right one, and the block goes on. */
static void wrong_time(void) {
    start();
    issues(START, 0);
    EXPECT(rf_set_clock(&rf, UINT32_MAX, UINT32_MAX) == RF_OK && rf_now(&rf) == END);
    EXPECT(rf_next(&rf, &id) == RF_NO_BLOCK);
    EXPECT(rf_renew(&rf) == RF_GRANT_USED && device.raised == 1);
    EXPECT(rf_set_clock(&rf, START + 5, 0) == RF_OK);
    issues(START + 5, 0);
    EXPECT(rf_renew(&rf) == RF_OK && device.raised == 1);
    test("a_wrong_time_that_was_corrected_costs_nothing");
}

/* Somebody sends one wrong time after the other. */
static void wrong_times(void) {
    start();
    for (uint32_t n = 0; n < 9; ++n) {
        EXPECT(rf_set_clock(&rf, UINT32_MAX, 100) == RF_OK && rf_now(&rf) == START + 100 + n);
        EXPECT(rf_renew(&rf) == RF_OK);
        device.uptime_s += 1;
    }
    EXPECT(device.horizon < START + 200);
    /* A trusted time is one to step from. */
    EXPECT(rf_set_clock(&rf, START + 500, UINT32_MAX) == RF_OK && rf_now(&rf) == START + 500);
    for (uint32_t n = 0; n < 9; ++n) {
        EXPECT(rf_set_clock(&rf, START + 900, 100) == RF_OK && rf_now(&rf) == START + 600);
    }
    EXPECT(rf_set_clock(&rf, START + 500, 100) == RF_OK && rf_now(&rf) == START + 500);
    test("many_wrong_times_waste_no_more_than_one");
}

static void losses(void) {
    start();
    device.uptime_s = 30;
    device.horizon = 0;
    EXPECT(rf_renew(&rf) == RF_HORIZON_LOST);
    device.uptime_s = 60;
    EXPECT(rf_renew(&rf) == RF_HORIZON_LOST);
    EXPECT(rf_next(&rf, &id) == RF_NO_BLOCK);
    EXPECT(device.raised == 1);
    test("a_horizon_that_is_lost_stops_the_device");
}

static rf_status found_init, found_renew;

static void again(void) {
    found_init = rf_init(&rf, &config);
    device.uptime_s = 500;
    found_renew = rf_renew(&rf);
    device.uptime_s = 0;
}

static void busy(void) {
    start();
    device.in_the_midst = again;
    issues(START, 0);
    EXPECT(found_init == RF_BUSY && found_renew == RF_BUSY);
    device.in_the_midst = again;
    EXPECT(rf_now(&rf) == START);
    EXPECT(found_init == RF_BUSY && found_renew == RF_BUSY);
    again();
    EXPECT(found_init == RF_OK && found_renew == RF_OK);
    test("a_block_in_use_is_not_replaced");
}

static rf_status found_next, found_set, found_wake, found_retain;
static uint32_t found_now;
static rf_parts found_parts;
static int32_t (*raise_as_before)(void *user, uint32_t unix_s);

/* A driver that yields to a task, or a callback that calls the library itself. */
static int32_t raise_with_calls(void *user, uint32_t unix_s) {
    uint64_t other;
    found_init = rf_init(&rf, &config);
    found_renew = rf_renew(&rf);
    found_retain = rf_retain(&rf, kept);
    found_wake = rf_wake(&rf, &config, kept);
    found_next = rf_next(&rf, &other);
    found_set = rf_set_clock(&rf, rf_now(&rf), 100);
    return raise_as_before(user, unix_s);
}

static bool is_refused(void) {
    return found_init == RF_BUSY && found_renew == RF_BUSY && found_retain == RF_BUSY && found_wake == RF_BUSY;
}

static void nested(void) {
    forget();
    raise_as_before = config.raise_horizon;
    config.raise_horizon = raise_with_calls;
    EXPECT(rf_init(&rf, &config) == RF_OK && rf_set_clock(&rf, 0, 0) == RF_OK);
    EXPECT(rf_renew(&rf) == RF_OK && is_refused() && found_next == RF_NO_BLOCK && found_set == RF_OK);
    issues(START, 0);
    /* A block that is extended gives ids meanwhile. */
    device.uptime_s = 40;
    EXPECT(rf_renew(&rf) == RF_OK && is_refused() && found_next == RF_OK && found_set == RF_OK);
    issues(START + 40, 1);
    device.fails = true;
    device.uptime_s = 500;
    EXPECT(rf_renew(&rf) == RF_HORIZON_STORE && is_refused() && found_next == RF_NO_BLOCK);
    device.fails = false;
    EXPECT(rf_renew(&rf) == RF_OK && is_refused());
    issues(START + 500, 0);
    test("a_call_inside_a_renewal_is_refused");
}

/* The horizon is read while the configuration is replaced, or just before. */
static uint32_t read_with_calls(void *user) {
    found_next = rf_next(&rf, &id);
    found_set = rf_set_clock(&rf, START, 100);
    found_now = rf_now(&rf);
    found_parts = rf_inspect(&rf, 1);
    found_renew = rf_renew(&rf);
    return ((struct device *)user)->horizon;
}

static void nested_init(void) {
    forget();
    config.read_horizon = read_with_calls;
    EXPECT(rf_init(&rf, &config) == RF_OK);
    EXPECT(found_next == RF_NO_BLOCK && found_set == RF_BUSY && found_now == 0 && found_renew == RF_BUSY);
    EXPECT(found_parts.unix_s == 0 && found_parts.node_id == 0 && found_parts.sequence == 0);
    test("a_call_inside_rf_init_is_refused");
}

static void next_in_the_midst(void) {
    found_init = rf_next(&rf, &id);
}

/* An interrupt between the reading of the word and its exchange. */
static void overtaken(void) {
    start();
    device.in_the_midst = next_in_the_midst;
    uint64_t mine;
    EXPECT(rf_next(&rf, &mine) == RF_OK && found_init == RF_OK);
    EXPECT(rf_inspect(&rf, id).sequence == 0);
    EXPECT(rf_inspect(&rf, mine).sequence == 1);
    test("an_interrupt_overtakes");
}

static void exhausted(void) {
    start();
    for (uint32_t count = 0; count < RF_IDS_PER_SECOND; ++count) {
        EXPECT(rf_next(&rf, &id) == RF_OK);
    }
    EXPECT(rf_inspect(&rf, id).sequence == RF_IDS_PER_SECOND - 1);
    uint64_t last = id;
    EXPECT(rf_next(&rf, &id) == RF_SEQUENCE_EXHAUSTED && id == last);
    device.uptime_s = 1;
    issues(START + 1, 0);
    test("a_second_is_exhausted");
}

static void text(void) {
    char written[RF_TEXT_SIZE];
    EXPECT(rf_text(0, written) == 1 && same(written, "0"));
    EXPECT(rf_text(31, written) == 1 && same(written, "v"));
    EXPECT(rf_text(UINT64_MAX, written) == 13 && same(written, "fvvvvvvvvvvvv"));
    uint64_t read = 99;
    EXPECT(rf_parse("fvvvvvvvvvvvv", 13, &read) == RF_OK && read == UINT64_MAX);
    EXPECT(rf_parse("v!", 1, &read) == RF_OK && read == 31);
    const char *const others[] = {"", "01", "w", "V", "-1", "g000000000000", "10000000000000"};
    for (size_t at = 0; at < sizeof others / sizeof *others; ++at) {
        size_t len = 0;
        while (others[at][len] != 0) {
            ++len;
        }
        EXPECT(rf_parse(others[at], len, &read) == RF_TEXT && read == 31);
    }
    EXPECT(rf_parse(0, 0, &read) == RF_NULL);
    test("text_is_written_and_read");
}

/* A reset in which RAM is lost, and the end of a sleep. */
static rf_status wake(void) {
    static const rf_t zero;
    rf = zero;
    device.uptime_s = 0;
    return rf_wake(&rf, &config, kept);
}

static void retain(void) {
    found_retain = rf_retain(&rf, kept);
}

static void sleeps(void) {
    forget();
    EXPECT(rf_retain(&rf, kept) == RF_NULL);
    start();
    EXPECT(rf_retain(&rf, 0) == RF_NULL && rf_retain(0, kept) == RF_NULL);
    EXPECT(rf_wake(&rf, &config, kept) == RF_BUSY);
    EXPECT(rf_wake(0, &config, kept) == RF_NULL && rf_wake(&rf, 0, kept) == RF_NULL && rf_wake(&rf, &config, 0) == RF_NULL);
    /* A block of a minute, an id every ten seconds, and a sleep after each: it goes on where it was. */
    issues(START, 0);
    uint32_t horizon = device.horizon;
    for (uint32_t second = 10; second < 60; second += 10) {
        EXPECT(rf_retain(&rf, kept) == RF_OK && rf_next(&rf, &id) == RF_NO_BLOCK);
        EXPECT(wake() == RF_OK && rf_next(&rf, &id) == RF_CLOCK_UNKNOWN);
        for (uint32_t word = 0; word < RF_RETAINED_WORDS; ++word) {
            EXPECT(kept[word] == 0);
        }
        EXPECT(rf_set_clock(&rf, START + second, 100) == RF_OK && rf_now(&rf) == START + second);
        issues(START + second, 0);
        EXPECT(device.horizon == horizon && device.raised == 1);
    }
    /* The rest is less than half a block: it is extended as before, and no longer than the grant. */
    EXPECT(rf_renew(&rf) == RF_OK && device.horizon == horizon + 60);
    issues(START + 50, 1);
    /* A crash after the wake: nothing was kept. */
    EXPECT(wake() == RF_OK && rf_next(&rf, &id) == RF_NO_BLOCK);
    EXPECT(rf_set_clock(&rf, 0, 0) == RF_OK && rf_renew(&rf) == RF_OK);
    issues(horizon + 60, 0);
    test("a_block_goes_on_after_a_sleep");
}

static void no_sleeps(void) {
    /* A word that changed. */
    for (uint32_t word = 0; word < RF_RETAINED_WORDS; ++word) {
        start();
        EXPECT(rf_retain(&rf, kept) == RF_OK);
        kept[word] ^= 0x100;
        EXPECT(wake() == RF_OK && rf_next(&rf, &id) == RF_NO_BLOCK);
    }
    /* Another block was begun: the device did not sleep, or was reset. */
    start();
    EXPECT(rf_retain(&rf, kept) == RF_OK && rf_renew(&rf) == RF_OK);
    device.uptime_s = 60;
    issues(START + 60, 0);
    EXPECT(wake() == RF_OK && rf_next(&rf, &id) == RF_NO_BLOCK);
    /* Another node id. */
    start();
    EXPECT(rf_retain(&rf, kept) == RF_OK);
    config.grant.node_id = 43;
    EXPECT(wake() == RF_OK && rf_next(&rf, &id) == RF_NO_BLOCK);
    /* The horizon was lost. */
    start();
    EXPECT(rf_retain(&rf, kept) == RF_OK);
    device.horizon = 0;
    EXPECT(wake() == RF_HORIZON_LOST);
    /* The last block of a grant, which rf_init would refuse. */
    start();
    EXPECT(rf_retain(&rf, kept) == RF_OK);
    config.grant.end_unix_s = START + 60;
    EXPECT(rf_init(&rf, &config) == RF_GRANT_USED && wake() == RF_OK);
    EXPECT(rf_set_clock(&rf, START + 59, 100) == RF_OK);
    issues(START + 59, 0);
    /* A thread is inside. */
    start();
    device.in_the_midst = retain;
    issues(START, 0);
    EXPECT(found_retain == RF_BUSY);
    /* Nothing is kept twice. */
    EXPECT(rf_retain(&rf, kept) == RF_OK && rf_retain(&rf, kept) == RF_OK && kept[4] == 0);
    test("no_block_goes_on_that_should_not");
}

static void records(void) {
    uint8_t record[RF_RECORD_SIZE];
    rf_write_record(EPOCH + 1, record);
    EXPECT(rf_read_record(record) == EPOCH + 4);
    record[7] |= 1;
    EXPECT(rf_read_record(record) == EPOCH + 4);
    record[6] = 0xff;
    EXPECT(rf_read_record(record) == 0);
    rf_write_record(0, record);
    EXPECT(rf_read_record(record) == 0);
    test("records");
}

static void grants(void) {
    /* As the tool writes it: node id 42, from 1,000 s after the epoch until 1,060. */
    uint8_t bytes[RF_GRANT_SIZE] = {42, 0, 0, 0, 0xe8, 3, 0, 0, 0x24, 4, 0, 0, LEASE_VERSION, 0, 0, 0};
    rf_grant grant = {0, 0, 0};
    EXPECT(rf_read_grant(bytes, &grant) == RF_OK);
    EXPECT(grant.node_id == 42 && grant.start_unix_s == EPOCH + 1000 && grant.end_unix_s == EPOCH + 1060);
    bytes[12] = 3 - LEASE_VERSION;
    EXPECT(rf_read_grant(bytes, &grant) == RF_GRANT_VERSION);
    bytes[12] = LEASE_VERSION;
    bytes[9] = 3;
    EXPECT(rf_read_grant(bytes, &grant) == RF_GRANT);
    bytes[2] = 2;
    EXPECT(rf_read_grant(bytes, &grant) == RF_NODE_ID);
    for (uint32_t at = 0; at < RF_GRANT_SIZE; ++at) {
        bytes[at] = 0xff;
    }
    EXPECT(rf_read_grant(bytes, &grant) == RF_NOT_PROVISIONED && grant.node_id == 42);
    test("a_grant_of_the_factory_is_read");
}

static void errors(void) {
    const char *unknown = rf_error_text(-1);
    EXPECT(same(unknown, "unknown status"));
    EXPECT(same(rf_error_text(RF_OK), "no error"));
    EXPECT(same(rf_error_text(RF_NODE_ID), "the node id is above 131071, or above 1023 with 53-bit ids"));
    for (rf_status status = RF_OK; status <= RF_GRANT_VERSION; ++status) {
        EXPECT(!same(rf_error_text(status), unknown));
    }
    EXPECT(same(rf_error_text(RF_GRANT_VERSION + 1), unknown));
    test("each_status_has_its_text");
}

void calls(void) {
    before_init();
    nulls();
    bad_configs();
    provisioning();
    clock();
    blocks();
    long_blocks();
    ends();
    wrong_time();
    wrong_times();
    losses();
    busy();
    nested();
    nested_init();
    overtaken();
    exhausted();
    text();
    records();
    sleeps();
    no_sleeps();
    grants();
    errors();
}
