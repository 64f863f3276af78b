// one_slice.cuh: the third axis of convolutions that have two, for packed_conv.cuh.
#pragma once
#define D 1
#define D_OUT 1
#define KERNEL_D 1
#define STRIDE_D 1
#define PADDING_D 0
#define DILATION_D 1
#define TAPS_D 1
#define PERIOD_D 1
#define PHASES_D 1
#define STEP_D 1
#define POSITIONS_D 1
#define LEAD_D 0
