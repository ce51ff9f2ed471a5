// Compiles three variants of attention, runs them, and asks for one again: attend [TARGET].
#include <attnc/attnc.hpp>

#include "memory.h"
#include <cstdio>

static attnc::Status attend(const attnc::Jit &jit, const std::string &name, std::int64_t width,
                            const attnc::Options &options) {
  auto program = jit.compile(attnc::Spec::fromFile(SPEC_DIR "/" + name + ".json"), options);
  if (!program)
    return program.error();
  auto loaded = program->loadOn(attnc::currentDevice);
  if (!loaded)
    return loaded.error();
  const std::vector<std::int64_t> shape = {1, 2, 40, width}; // batch, heads, rows, columns
  const std::size_t count = 2 * 40 * width;
  Memory q(options.target, count), v(options.target, count), o(options.target, count);
  for (std::size_t n = 0; n < count; ++n)
    q.values[n] = float(n % 7) / 7, v.values[n] = 1;
  auto done = loaded->launch({{{"q", q.toDevice(), shape},
                               {"k", q.toDevice(), shape},
                               {"v", v.toDevice(), shape},
                               {"o", o.toDevice(), shape}}});
  if (done) // The weights of a row sum to 1, and so does what they make of ones.
    o.fromDevice(), std::printf("%s: o = %.3f\n", name.c_str(), o.values.back());
  return done;
}

int main(int argc, char **argv) {
  const std::string target = argc > 1 ? argv[1] : "cpu";
  auto jit = attnc::Jit::create();
  auto done = jit ? attend(*jit, "ffpa", 320, {target, {"T=f32", "d=320", "e=320"}}) : jit.error();
  done = done ? attend(*jit, "nystrom", 64, {target, {"m=8"}}) : done;
  done = done ? attend(*jit, "elsa", 64, {target}) : done;
  done = done ? attend(*jit, "elsa", 64, {target}) : done;
  if (done)
    return std::printf("compiled %d of 4\n", int(jit->stats().misses)), 0;
  return std::fprintf(stderr, "%s\n", done.error().text().c_str()), 1;
}
