// one_row.cuh: the second and third axis of convolutions that have one, for packed_conv.cuh.
#pragma once
#include "one_slice.cuh"
#define H 1
#define H_OUT 1
#define KERNEL_H 1
#define STRIDE_H 1
#define PADDING_H 0
#define DILATION_H 1
#define TAPS_H 1
#define PERIOD_H 1
#define PHASES_H 1
#define STEP_H 1
#define POSITIONS_H 1
#define LEAD_H 0
