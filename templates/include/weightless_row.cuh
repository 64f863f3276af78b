// weightless_row.cuh: an empty Weights, for row operators without further inputs (row_state.cuh).
#pragma once

struct Weights {};
#define WEIGHTS {}
#define WEIGHTS_OF(s) {}
