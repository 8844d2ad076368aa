/* The libraries' test vectors, which `cargo xtask c` turns into tables. */
#include "suite.h"

struct vector {
    uint8_t key[16];
    uint32_t unix_s, node_id, sequence;
    uint64_t id;
    const char *text;
};

struct ticket {
    uint8_t key[16];
    uint64_t device_id;
    uint32_t counter;
    rf_grant grant;
    uint8_t bytes[RF_TICKET_SIZE];
};

#include "vectors.h"

#define MAX_ISSUED 1
#define MAX_COUNTER 1073741823u

static rf_t rf;

/* Issues it where its sequence is soon reached; reads it anyway. */
static void check(const struct vector *vector, uint32_t *issued) {
    static const rf_t zero;
    struct device device = {.horizon = vector->unix_s};
    rf_config config = config_of(&device, vector->node_id, vector->unix_s, vector->unix_s + 1);
    rf = zero;
    config.key = vector->key;
    EXPECT(rf_init(&rf, &config) == RF_OK);

    uint64_t id;
    if (vector->sequence <= MAX_ISSUED) {
        EXPECT(rf_set_clock(&rf, 0, 0) == RF_OK);
        EXPECT(rf_renew(&rf) == RF_OK);
        for (uint32_t count = 0; count <= vector->sequence; ++count) {
            EXPECT(rf_next(&rf, &id) == RF_OK);
        }
        EXPECT(id == vector->id);
        *issued += 1;
    }

    rf_parts parts = rf_inspect(&rf, vector->id);
    EXPECT(parts.unix_s == vector->unix_s);
    EXPECT(parts.node_id == vector->node_id);
    EXPECT(parts.sequence == vector->sequence);
    char text[RF_TEXT_SIZE];
    rf_text(vector->id, text);
    EXPECT(same(text, vector->text));
    EXPECT(rf_parse(text, rf_text(vector->id, text), &id) == RF_OK && id == vector->id);
}

void vectors(void) {
    uint32_t count = sizeof VECTORS / sizeof *VECTORS, issued = 0;
    for (uint32_t at = 0; at < count; ++at) {
        check(&VECTORS[at], &issued);
    }
    EXPECT(count >= 60 && issued >= 10);
    say_number(count);
    say(" vectors, ");
    say_number(issued);
    say(" of them issued\n");
    test("vectors_of_ids");
}

static rf_status accept(const struct ticket *ticket, uint32_t now_unix_s, uint32_t *counter, rf_grant *grant) {
    return rf_accept_ticket(ticket->bytes, ticket->key, ticket->device_id, now_unix_s, counter, grant);
}

/* Refused in each way; then accepted, if its counter is one that a device can keep. */
static void check_ticket(struct ticket ticket) {
    rf_grant grant = {99, 99, 99};
    uint32_t counter = 0;
    ticket.device_id ^= 1;
    EXPECT(accept(&ticket, 0, &counter, &grant) == RF_TICKET_FOREIGN);
    ticket.device_id ^= 1;
    ticket.bytes[9] ^= 1;
    EXPECT(accept(&ticket, 0, &counter, &grant) == RF_TICKET_FORGED);
    ticket.bytes[9] ^= 1;
    ticket.bytes[0] = 3 - LEASE_VERSION;
    EXPECT(accept(&ticket, 0, &counter, &grant) == RF_TICKET_VERSION);
    ticket.bytes[0] = LEASE_VERSION;
    if (ticket.counter > MAX_COUNTER) {
        EXPECT(accept(&ticket, 0, &counter, &grant) == RF_TICKET_COUNTER);
        EXPECT(counter == 0 && grant.node_id == 99);
        return;
    }
    EXPECT(accept(&ticket, ticket.grant.end_unix_s, &counter, &grant) == RF_TICKET_EXPIRED);
    EXPECT(counter == 0);
    counter = ticket.counter;
    EXPECT(accept(&ticket, 0, &counter, &grant) == RF_TICKET_REPLAYED);
    counter -= 1;
    EXPECT(grant.node_id == 99 && grant.start_unix_s == 99 && grant.end_unix_s == 99);

    EXPECT(accept(&ticket, ticket.grant.start_unix_s, &counter, &grant) == RF_OK);
    EXPECT(counter == ticket.counter);
    EXPECT(grant.node_id == ticket.grant.node_id);
    EXPECT(grant.start_unix_s == ticket.grant.start_unix_s);
    EXPECT(grant.end_unix_s == ticket.grant.end_unix_s);
}

void tickets(void) {
    for (uint32_t at = 0; at < sizeof TICKETS / sizeof *TICKETS; ++at) {
        check_ticket(TICKETS[at]);
    }
#ifndef RF_BITS53
    /* Its tag is right, but Randflake has no node id 200000. */
    static const uint8_t key[16] = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
    static const uint8_t bytes[RF_TICKET_SIZE] = {1,  3,  13,  64, 0,  0,  0,   1,   0, 0,  0,   0,   0,   0,  0,   7,
                                                  99, 41, 165, 0,  99, 41, 168, 232, 2, 28, 198, 209, 177, 73, 172, 175};
    uint32_t counter = 0;
    rf_grant grant = {99, 99, 99};
    EXPECT(rf_accept_ticket(bytes, key, 7, 0, &counter, &grant) == RF_TICKET_LEASE);
    EXPECT(counter == 0 && grant.node_id == 99);
#endif
    test("tickets");
}
