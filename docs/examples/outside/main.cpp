// Compiles three variants of attention for the processor, runs them, and asks for one again.
#include <attnc/attnc.hpp>

static attnc::Status attend(const attnc::Jit &jit, const std::string &name, std::int64_t width,
                            const std::vector<std::string> &set) {
  auto program = jit.compile(attnc::Spec::fromFile(SPEC_DIR "/" + name + ".json"), {"cpu", set});
  if (!program)
    return program.error();
  auto loaded = program->loadOn(attnc::currentDevice);
  if (!loaded)
    return loaded.error();
  const std::vector<std::int64_t> shape = {1, 2, 40, width}; // batch, heads, rows, columns
  std::vector<float> q(2 * 40 * width), v(q.size(), 1), o(q.size());
  for (std::size_t n = 0; n < q.size(); ++n)
    q[n] = float(n % 7) / 7;
  auto done = loaded->launch({{{"q", q.data(), shape},
                               {"k", q.data(), shape},
                               {"v", v.data(), shape},
                               {"o", o.data(), shape}}});
  if (done) // The weights of a row sum to 1, and so does what they make of ones.
    std::printf("%s: o = %.3f\n", name.c_str(), o.back());
  return done;
}

int main() {
  auto jit = attnc::Jit::create();
  auto done = jit ? attend(*jit, "ffpa", 320, {"T=f32", "d=320", "e=320"}) : jit.error();
  done = done ? attend(*jit, "nystrom", 64, {"m=8"}) : done;
  done = done ? attend(*jit, "elsa", 64, {}) : done;
  done = done ? attend(*jit, "elsa", 64, {}) : done;
  if (done)
    return std::printf("compiled %d of 4\n", int(jit->stats().misses)), 0;
  return std::fprintf(stderr, "%s\n", done.error().text().c_str()), 1;
}
