#pragma once

/// Programs in memory: compiled once, asked for often.

#include "attnc/program.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace attnc {

struct JitStats {
  std::size_t programs;  ///< kept now, errors among them
  std::uint64_t hits;    ///< found in memory
  std::uint64_t waits;   ///< of the hits, those that waited for another thread to compile
  std::uint64_t misses;  ///< compiled, or read from disk
  std::uint64_t dropped; ///< to stay within the capacity
};

/// Programs that were asked for before, by spec and options. Thread-safe: of several threads that
/// ask for the same, one compiles and the others wait. Copies share one memory. One that was moved
/// from may only be assigned or destroyed.
class Jit {
public:
  /// Keeps at most `capacity` programs, 0 for 256; the least recently used go first. What the
  /// caller holds lives on. Errors: Environment without memory.
  static Result<Jit> create(std::size_t capacity = 0) {
    auto options = detail::sized<attnc_jit_options>();
    options.capacity = capacity;
    attnc_jit *jit = nullptr;
    if (Status status = detail::toStatus(attnc_jit_create(&options, &jit)); !status)
      return status.error();
    return Jit(detail::own(jit));
  }

  /// As attnc::compile, from memory where the same text has been compiled with the same options. A
  /// file is read each time, and what counts is what it holds. Errors of the spec and of arguments
  /// are kept as programs are; others are tried again by the next who asks.
  Result<Program> compile(const Spec &spec, const Options &options) const {
    detail::COptions c(options);
    return Program::made([&](attnc_program **program) {
      return spec.isFile() ? attnc_jit_file(handle.get(), spec.name().c_str(), c.get(), program)
                           : attnc_jit_text(handle.get(), spec.name().c_str(), spec.text().data(),
                                            spec.text().size(), c.get(), program);
    });
  }

  JitStats stats() const {
    auto stats = detail::sized<attnc_jit_stats>();
    detail::expect(attnc_jit_get_stats(handle.get(), &stats));
    return {stats.programs, stats.hits, stats.waits, stats.misses, stats.dropped};
  }
  /// Forgets everything.
  void clear() const { attnc_jit_clear(handle.get()); }

private:
  explicit Jit(std::shared_ptr<attnc_jit> handle) : handle(std::move(handle)) {}

  std::shared_ptr<attnc_jit> handle;
};

} // namespace attnc
