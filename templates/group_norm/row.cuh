// row.cuh: the class Row (row_state.cuh) for group_norm: a row is a group of an image's channels.
#include "norm_row.cuh"
#define WEIGHTS EPS, GROUPS, HW
#define WEIGHTS_OF(s) (s).eps, (s).groups, (s).hw
#define ANSWER_AXES C, HW
#define AXES_OF(s) (s).c, (s).hw
template <class Real> struct Row : Norm<Real, true> {};
