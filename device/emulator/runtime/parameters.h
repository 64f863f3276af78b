// parameters.h: whether the kernels take the arguments that the operator has. A GPU
// would not ask: a pointer to another type is another kernel's pointer to it.
#pragma once

// A parameter as C++ writes it.
static void parameter_spell(Text& text, const char* type, bool pointer, bool constant) {
  text.add("%s%s%s", pointer && constant ? "const " : "", type, pointer ? "*" : "");
}

// Whether a launch passes an argument to a kernel that may write it.
static bool parameter_written(int argument) {
  for (int i = 0; i < job.launch_count; ++i)
    for (int k = 0; k < job.launches[i].passed_count; ++k)
      if (job.launches[i].passed[k].argument == argument && !job.launches[i].entry->list[k].constant) return true;
  return false;
}

// What the kernel takes at a place, where that cannot be what the operator has.
static void parameter_check(int place, const AutotuneParameter& p, const Passed& passed) {
  const Argument& a = job.arguments[passed.argument];
  const bool any = p.pointer && !*p.element;  // void, or a struct of the kernel's own
  const bool same = passed.as_map ? p.map : p.pointer == a.pointer && !p.map && (any || strcmp(p.element, a.spelling) == 0);
  if (same && (p.map || !(p.constant && a.write_only && !parameter_written(passed.argument)))) return;
  Text text;
  text.add("argument %d, %s: the kernel takes ", place + 1, a.name);
  parameter_spell(text, *p.shown ? p.shown : "void", p.pointer, p.constant);
  if (passed.as_map) {
    text.add(", the launch passes a tensor map, which is const __grid_constant__ TensorMap");
    report_end("launch_error", text.data);
  }
  text.add(", the operator has %s %s, which is ", a.pointer ? a.write_only ? "an output of" : "a tensor of" : "a scalar of", a.word);
  parameter_spell(text, a.spelling, a.pointer, false);
  report_end("launch_error", text.data);
}

// All counts come first: the other checks look at all launches.
static void parameters_check() {
  for (int i = 0; i < job.launch_count; ++i) {
    const Launch& l = job.launches[i];
    if (l.passed_count == l.entry->parameters) continue;
    report_about(l);
    Text text;
    text.add("the kernel takes ");
    text.add_count(l.entry->parameters, "argument");
    text.add(", the %s %d", l.passed_count < job.argument_count ? "launch passes" : "operator has", l.passed_count);
    report_end("launch_error", text.data);
  }
  for (int i = 0; i < job.launch_count; ++i) {
    const Launch& l = job.launches[i];
    report_about(l);
    for (int k = 0; k < l.passed_count; ++k) parameter_check(k, l.entry->list[k], l.passed[k]);
  }
  report_kernel = nullptr;
}
