// parameters.h: whether the kernel takes the arguments that the operator has. A GPU
// would not ask: a pointer to another type is another kernel's pointer to it.
#pragma once

// A parameter as C++ writes it.
static void parameter_spell(Text& text, const char* type, bool pointer, bool constant) {
  text.add("%s%s%s", pointer && constant ? "const " : "", type, pointer ? "*" : "");
}

// What the kernel takes at a place, where that cannot be what the operator has.
static void parameter_check(int place, const AutotuneParameter& p, const Argument& a) {
  const bool any = p.pointer && !*p.element;  // void, or a struct of the kernel's own
  const bool same = p.pointer == a.pointer && (any || strcmp(p.element, a.spelling) == 0);
  if (same && !(p.constant && a.write_only)) return;
  Text text;
  text.add("argument %d, %s: the kernel takes ", place + 1, a.name);
  parameter_spell(text, *p.shown ? p.shown : "void", p.pointer, p.constant);
  text.add(", the operator has %s %s, which is ", a.pointer ? a.write_only ? "an output of" : "a tensor of" : "a scalar of", a.word);
  parameter_spell(text, a.spelling, a.pointer, false);
  report_end("launch_error", text.data);
}

static void parameters_check() {
  if (job.argument_count != autotune_parameters) {
    Text text;
    text.add("the kernel takes ");
    text.add_count(autotune_parameters, "argument");
    text.add(", the operator has %d", job.argument_count);
    report_end("launch_error", text.data);
  }
  for (int i = 0; i < autotune_parameters; ++i) parameter_check(i, autotune_parameter_list[i], job.arguments[i]);
}
