/* All tests on a board. Resets first: with each all begins anew, and the timer must not run then. */
#include "board.h"

_Noreturn void run(void) {
#ifndef PLANTED
    resets();
    calls();
    vectors();
    tickets();
    raw_flash(1);
#ifdef PAIRS
    pairs();
#endif
#endif
    preemption();
    finish();
}
