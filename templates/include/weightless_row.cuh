// weightless_row.cuh: answers that depend on their row alone (row_state.cuh).
#pragma once

struct Weights {};
#define WEIGHTS {}
#define WEIGHTS_OF(s) {}
