#include "api/c/compile.h"
#include "compiler/jit/open_program.h"

using namespace attnc;
using namespace attnc::api;

/// `read` gives a Program.
template <typename Read> static attnc_error *load(attnc_program **out, Read &&read) {
  return atBorder([&]() -> ErrorPtr {
    *out = nullptr;
    auto start = std::chrono::steady_clock::now();
    Result<Program> program = read();
    if (!program)
      return toC(program.error());
    Result<driver::Compilation> opened = openProgram(*std::move(program), ImageCompiler::ofUser());
    if (!opened)
      return toC(opened.error());
    *out =
        new attnc_program{describe(*std::move(opened), /*keepTexts=*/true, ATTNC_FROM_FILE, start)};
    return nullptr;
  });
}

attnc_error *attnc_program_warm_up(const attnc_program *program) {
  return atBorder([&] { return toC(warmUp(program->compiled->compilation)); });
}

attnc_error *attnc_program_save(const attnc_program *program, const char *path) {
  return atBorder([&]() -> ErrorPtr {
    if (!path)
      return toC(invalidArgument("the path of the program file is NULL"));
    Result<Program> whole = completed(program->compiled->compilation);
    return whole ? toC(saveProgram(*whole, path)) : toC(whole.error());
  });
}

attnc_error *attnc_program_load(const char *path, attnc_program **program) {
  return load(program, [&]() -> Result<Program> {
    if (!path)
      return invalidArgument("the path of the program file is NULL");
    return loadProgram(path);
  });
}

attnc_error *attnc_program_load_bytes(const void *bytes, size_t length, attnc_program **program) {
  return load(program, [&]() -> Result<Program> {
    if (!bytes)
      return invalidArgument("the bytes of the program are NULL");
    return deserializeProgram({static_cast<const char *>(bytes), length});
  });
}
