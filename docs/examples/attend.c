/* Causal attention on the processor through the C interface of attnc. Build with any C99 compiler:
 *   cc -std=c99 -I api/include docs/examples/attend.c -L build/lib -lattnc -o attend
 *   ./attend kernels_spec/causal.json
 * On a GPU only the target, the device pointers and the stream differ. */
#include "attnc_c.h"

#include <stdio.h>
#include <stdlib.h>

enum { heads = 2, rows = 5, columns = 5, width = 64 };

static float q[heads][rows][width], k[heads][columns][width], v[heads][columns][width];
static float o[heads][rows][width];

/* Prints an error and ends. */
static void check(attnc_error *error) {
  if (!error)
    return;
  fprintf(stderr, "%s\n  %s\n", attnc_error_message(error), attnc_error_remedy(error));
  attnc_error_destroy(error);
  exit(1);
}

static void fill(float *values, int count, int step) {
  for (int i = 0; i < count; ++i)
    values[i] = (float)(i * step % 17 - 8) / 8;
}

int main(int argc, char **argv) {
  const char *set[] = {"T=f32"};
  attnc_compile_options options = {0};
  attnc_program *program = NULL;
  attnc_loaded *loaded = NULL;
  attnc_plan *plan = NULL;
  if (argc != 2) {
    fprintf(stderr, "usage: attend SPEC\n");
    return 2;
  }
  options.struct_size = sizeof options;
  options.target = "cpu";
  options.set = set;
  options.set_count = 1;
  check(attnc_compile_file(argv[1], &options, &program));
  check(attnc_load(program, ATTNC_CURRENT_DEVICE, &loaded));

  fill(&q[0][0][0], heads * rows * width, 5);
  fill(&k[0][0][0], heads * columns * width, 3);
  fill(&v[0][0][0], heads * columns * width, 7);
  const int64_t row_shape[] = {1, heads, rows, width};
  const int64_t column_shape[] = {1, heads, columns, width};
  const attnc_tensor tensors[] = {{"q", q, ATTNC_F32, 4, row_shape, NULL},
                                  {"k", k, ATTNC_F32, 4, column_shape, NULL},
                                  {"v", v, ATTNC_F32, 4, column_shape, NULL},
                                  {"o", o, ATTNC_F32, 4, row_shape, NULL}};
  const attnc_param params[] = {{"scale", 0, 0, 0.25}};
  const attnc_arguments arguments = {sizeof arguments, tensors, 4, params, 1, NULL};
  check(attnc_bind(loaded, &arguments, &plan));
  check(attnc_plan_launch(plan, NULL, NULL));

  /* The first row of a causal mask sees only the first key, so it is that key's value. */
  for (int e = 0; e < width; ++e)
    if (o[1][0][e] != v[1][0][e]) {
      fprintf(stderr, "o[1][0][%d] is %g, not %g\n", e, o[1][0][e], v[1][0][e]);
      return 1;
    }
  printf("o[1][4][0] = %.6f\n", o[1][4][0]);
  attnc_plan_destroy(plan);
  attnc_loaded_destroy(loaded);
  attnc_program_destroy(program);
  return 0;
}
