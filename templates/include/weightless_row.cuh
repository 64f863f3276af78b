// weightless_row.cuh: an empty Weights, for operators whose answers depend only on their row (row_state.cuh).
#pragma once

struct Weights {};
#define WEIGHTS {}
#define WEIGHTS_OF(s) {}
