// dependent_launch.cuh, emulated: launches run one after the other, and the runtime checks that every thread of a
// dependent launch waits.
#pragma once

inline void begin_dependents() { cudaTriggerProgrammaticLaunchCompletion(); }
inline void wait_for_launches() { cudaGridDependencySynchronize(); }
