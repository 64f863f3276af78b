// dependent_launch.cuh, emulated: a dependent launch (programmatic dependent launch) begins when the launch before it
// has finished. The runtime checks that each of its threads waits.
#pragma once

inline void begin_dependents() { cudaTriggerProgrammaticLaunchCompletion(); }
inline void wait_for_launches() { cudaGridDependencySynchronize(); }
