// dependent_launch.cuh, emulated: a dependent launch (programmatic dependent launch) begins when the launch before it
// has finished. The emulator checks that every thread of a dependent launch executes the wait.
#pragma once

inline void begin_dependents() { cudaTriggerProgrammaticLaunchCompletion(); }
inline void wait_for_launches() { cudaGridDependencySynchronize(); }
