// dependent_launch.cuh, emulated: launches follow each other, and the runtime sees that every thread
// of a dependent one waits.
#pragma once

inline void begin_dependents() { cudaTriggerProgrammaticLaunchCompletion(); }
inline void wait_for_launches() { cudaGridDependencySynchronize(); }
