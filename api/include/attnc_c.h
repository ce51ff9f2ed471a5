/* The C interface of attnc: a spec becomes a program, a program is loaded on a device, bound to
 * tensors and launched on a stream. C99; docs/c-api.md has an example.
 *
 *   attnc_compile_file -> attnc_program -> attnc_load -> attnc_loaded -> attnc_bind -> attnc_plan
 *                                                                        attnc_plan_launch
 *
 * Errors. A function that can fail returns NULL, or an error that the caller destroys; then the
 * things it would have made are set to NULL and nothing was launched. No C++ exception leaves this
 * library.
 *
 * Ownership. What a function makes, the caller destroys; destroying NULL does nothing. Handles may
 * be destroyed in any order: each keeps alive what it needs. Texts and arrays that a function
 * returns belong to the handle that they were asked of and live as long as it does. Nothing that
 * the caller passes is kept after the call but the tensors' data pointers, in plans.
 *
 * Threads. Handles are immutable once made and may be used from several threads at the same time,
 * but must not be destroyed while another thread uses them.
 *
 * Units. Extents and strides are counted in elements, memory in bytes, times in seconds.
 *
 * Versions. Structs that may grow start with `struct_size`, which the caller sets to sizeof. Within
 * one ATTNC_ABI_VERSION functions and fields are only added. */
#ifndef ATTNC_C_H
#define ATTNC_C_H

#include <stddef.h>
#include <stdint.h>

/* C's style of names. NOLINTBEGIN(readability-identifier-naming) */

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ATTNC_API __attribute__((visibility("default")))
#else
#define ATTNC_API
#endif

#define ATTNC_ABI_VERSION 1

/* ATTNC_ABI_VERSION of the library that was loaded. */
ATTNC_API int32_t attnc_abi_version(void);
/* The version of attnc, "0.1.0". */
ATTNC_API const char *attnc_version(void);

/*---- errors ------------------------------------------------------------------------------------*/

enum {
  ATTNC_ERROR_INVALID_ARGUMENT = 1, /* tensors, sizes, params, options or files do not fit */
  ATTNC_ERROR_SPEC = 2,             /* the spec has errors; the message has their places */
  ATTNC_ERROR_ENVIRONMENT = 3,      /* no GPU, no driver, no NVRTC, no memory, no permission */
  ATTNC_ERROR_COMPILATION = 4,      /* NVRTC or ptxas refused generated code */
  ATTNC_ERROR_INTERNAL = 5          /* a defect of attnc itself */
};

typedef struct attnc_error attnc_error;

/* One of ATTNC_ERROR_*. */
ATTNC_API int32_t attnc_error_kind(const attnc_error *error);
/* What is wrong, naming the tensor, dim, file or call; may have several lines. */
ATTNC_API const char *attnc_error_message(const attnc_error *error);
/* What the caller can do; may be empty, never NULL. */
ATTNC_API const char *attnc_error_remedy(const attnc_error *error);
ATTNC_API void attnc_error_destroy(attnc_error *error);

/*---- compiling ---------------------------------------------------------------------------------*/

/* A compiled spec, in host memory. */
typedef struct attnc_program attnc_program;

typedef struct attnc_compile_options {
  size_t struct_size;
  const char *target;     /* "sm_90a", "sm_80", ..., "cpu" */
  const char *const *set; /* "name=value": static extents, named types, integer lets; NULL if
                             set_count is 0 */
  size_t set_count;
  const char *schedule; /* JSON object with overrides of the schedule; NULL for none */
  int32_t keep_texts;   /* not 0: keep the IR and the generated code for attnc_program_text, and
                           compile at once what launches may need later */
  int32_t no_cache;     /* not 0: neither read nor write the cache on disk */
  int32_t allow_mlir; /* not 0: a name or path that ends in .mlir is a program in the attn dialect.
                         Such text can say more than a spec, so it is refused unless asked for */
} attnc_compile_options;

/* Compiles the text of a spec (JSON with comments), `length` bytes without a final zero. `name` is
 * used as the file name in errors. A GPU target needs NVRTC, not a GPU.
 * Errors: SPEC; INVALID_ARGUMENT for an unknown target, option or schedule key, and for what the
 * target cannot do; ENVIRONMENT without NVRTC. */
ATTNC_API attnc_error *attnc_compile_text(const char *name, const char *text, size_t length,
                                          const attnc_compile_options *options,
                                          attnc_program **program);
/* The same for a file. ENVIRONMENT if it cannot be read. */
ATTNC_API attnc_error *attnc_compile_file(const char *path, const attnc_compile_options *options,
                                          attnc_program **program);
/* The text of a spec with all that it extends written out (docs/spec.md), for who looks at a spec
 * itself. `path` is the file that it is in; NULL: it is in none, and may extend specs of the library
 * alone. The result is freed with attnc_free_text. Nothing else of the spec is checked. Errors:
 * SPEC. */
ATTNC_API attnc_error *attnc_whole_spec(const char *path, const char *text, size_t length,
                                        char **whole);
ATTNC_API void attnc_free_text(char *text); /* NULL is allowed */
ATTNC_API void attnc_program_destroy(attnc_program *program);

/* Compiles now what launches may need later, of all entry points: variants that are compiled on
 * first use. After it no bind waits for the compiler. Does nothing where nothing waits.
 * Thread-safe. Errors: those of compiling. */
ATTNC_API attnc_error *attnc_program_warm_up(const attnc_program *program);

/*---- programs in files -------------------------------------------------------------------------*/

/* Writes the program, warmed up, to a file that attnc_program_load, `attnc run` and the Python
 * module read, also where there is no NVRTC: docs/program-files.md. Written beside `path` and
 * renamed. Errors: those of attnc_program_warm_up; ENVIRONMENT if the file cannot be written. */
ATTNC_API attnc_error *attnc_program_save(const attnc_program *program, const char *path);
/* Reads a program file. Any bytes are safe to read, but a program is code: one that attnc has not
 * written can do anything once it is loaded. Errors: ENVIRONMENT if it cannot be read;
 * INVALID_ARGUMENT for what is foreign, damaged, written for what this attnc does not know, or for
 * another processor (target cpu). */
ATTNC_API attnc_error *attnc_program_load(const char *path, attnc_program **program);
/* The same from `length` bytes in memory, which are copied. */
ATTNC_API attnc_error *attnc_program_load_bytes(const void *bytes, size_t length,
                                                attnc_program **program);

/*---- programs in memory ------------------------------------------------------------------------*/

/* Programs that were asked for before, by spec and options. Thread-safe: several threads may ask at
 * the same time; of those that ask for the same, one compiles and the others wait. */
typedef struct attnc_jit attnc_jit;

typedef struct attnc_jit_options {
  size_t struct_size;
  size_t capacity; /* programs kept, the least recently used go first; 0 for 256. A program that the
                      caller holds lives on without the jit. */
} attnc_jit_options;

typedef struct attnc_jit_stats {
  size_t struct_size;
  size_t programs;  /* kept now, errors among them */
  uint64_t hits;    /* found in memory */
  uint64_t waits;   /* of the hits, those that waited for another thread to compile */
  uint64_t misses;  /* compiled, or read from disk */
  uint64_t dropped; /* to stay within the capacity */
} attnc_jit_stats;

/* `options` may be NULL. */
ATTNC_API attnc_error *attnc_jit_create(const attnc_jit_options *options, attnc_jit **jit);
/* As attnc_compile_text and attnc_compile_file, from memory where the same text has been compiled
 * with the same options. A file is read each time, and what counts is what it holds. Errors of the
 * spec and of arguments are kept as programs are; others are tried again by the next who asks. */
ATTNC_API attnc_error *attnc_jit_text(attnc_jit *jit, const char *name, const char *text,
                                      size_t length, const attnc_compile_options *options,
                                      attnc_program **program);
ATTNC_API attnc_error *attnc_jit_file(attnc_jit *jit, const char *path,
                                      const attnc_compile_options *options,
                                      attnc_program **program);
ATTNC_API attnc_error *attnc_jit_get_stats(attnc_jit *jit, attnc_jit_stats *stats);
/* Forgets everything. */
ATTNC_API void attnc_jit_clear(attnc_jit *jit);
ATTNC_API void attnc_jit_destroy(attnc_jit *jit);

/*---- what a program takes and gives ------------------------------------------------------------*/

/* Element types. */
enum {
  ATTNC_F16 = 0,
  ATTNC_BF16 = 1,
  ATTNC_F32 = 2,
  ATTNC_F64 = 3,
  ATTNC_I8 = 4,
  ATTNC_I32 = 5,
  ATTNC_I64 = 6,
  ATTNC_U8 = 7
};

typedef struct attnc_tensor_info {
  size_t struct_size;
  const char *name;
  int32_t dtype;
  int32_t is_output;
  const char *const *dims; /* names, `rank` of them */
  size_t rank;
  int64_t align; /* bytes to which the address and, but for the last axis, strides are aligned */
} attnc_tensor_info;

typedef struct attnc_dim_info {
  size_t struct_size;
  const char *name;
  int64_t extent; /* -1 if it is known only when tensors are bound */
} attnc_dim_info;

typedef struct attnc_param_info {
  size_t struct_size;
  const char *name;
  int32_t dtype; /* f32, f64, i32 or i64 */
  int32_t has_default;
} attnc_param_info;

/* Entry points. A spec with the key `grad` is one program with two: "forward", which is what the
 * program itself takes and gives, and "backward", the gradients. The outputs of "forward" are those
 * of the spec and what it saves for "backward", named `saved_*`. The inputs of "backward" are those
 * of the spec that it needs, what is saved, and `grad_o`, the gradient of each output `o`; its
 * outputs are `grad_q` for each input or param `q` that the spec asks for. Any other program has
 * "forward" alone. */
ATTNC_API size_t attnc_program_entry_count(const attnc_program *program);
/* The name of an entry point, "forward" for the first; NULL for an index beyond the count. */
ATTNC_API const char *attnc_program_entry_name(const attnc_program *program, size_t index);
/* An entry point as a program of its own, whose one entry point it is; "forward" gives the whole.
 * Everything that takes a program takes it; saved, it is a file without the others. It shares the
 * machine code, and what is compiled on first use, with the whole and with all other handles of the
 * entry point, and needs none of them to live: destroy it as any program. Nothing is compiled or
 * loaded. Thread-safe. INVALID_ARGUMENT for a name that the program has no entry point of; the
 * remedy lists those that there are. */
ATTNC_API attnc_error *attnc_program_entry(const attnc_program *program, const char *name,
                                           attnc_program **entry);

ATTNC_API const char *attnc_program_name(const attnc_program *program);
ATTNC_API const char *attnc_program_target(const attnc_program *program);
/* Tensors are numbered: inputs in the order of the spec, then outputs. An index beyond the count is
 * INVALID_ARGUMENT; `info` must have its struct_size set. */
ATTNC_API size_t attnc_program_tensor_count(const attnc_program *program);
ATTNC_API attnc_error *attnc_program_tensor(const attnc_program *program, size_t index,
                                            attnc_tensor_info *info);
/* The dims that tensors have, that are static or that the caller chooses; not what is computed from
 * them for use inside, such as the parts of a long sequence on a GPU. */
ATTNC_API size_t attnc_program_dim_count(const attnc_program *program);
ATTNC_API attnc_error *attnc_program_dim(const attnc_program *program, size_t index,
                                         attnc_dim_info *info);
ATTNC_API size_t attnc_program_param_count(const attnc_program *program);
ATTNC_API attnc_error *attnc_program_param(const attnc_program *program, size_t index,
                                           attnc_param_info *info);

/*---- what became of the spec -------------------------------------------------------------------*/

typedef struct attnc_kernel_info {
  size_t struct_size;
  const char *name;
  const char *form; /* how its nest is computed: "warpgroups", "portable", "generic", "cpu"; empty
                       for copies */
  const char *schedule; /* as printed in the IR; empty for the target cpu */
  const char *notes; /* numbered remarks of ptxas, one a line; empty if there are none. Of a kernel
                        compiled on first use, from then on, also what it spills */
  int32_t threads;   /* of a block */
  int32_t shared_bytes; /* dynamic, of a block; -1 if it depends on sizes */
  int32_t registers;    /* of a thread; this and the next are -1 where ptxas did not run: on the
                           target cpu, and without keep_texts for kernels compiled on first use */
  int32_t spill_store_bytes;
  int32_t spill_load_bytes;
  int32_t stack_bytes;
  int32_t static_shared_bytes;
} attnc_kernel_info;

/* Where a program came from. */
enum {
  ATTNC_FROM_COMPILER = 0, /* compiled, though kernels may have come from the cache on disk */
  ATTNC_FROM_DISK = 1,     /* the cache on disk had it */
  ATTNC_FROM_FILE = 2,     /* attnc_program_load */
  ATTNC_FROM_REMOTE = 3    /* the remote cache had it, or a service has compiled it */
};

/* Of all entry points, which are made together. */
typedef struct attnc_timings {
  size_t struct_size;
  double total;             /* from the text of the spec to machine code, or to read it */
  double nvrtc;             /* of that, in NVRTC */
  int32_t origin;           /* one of ATTNC_FROM_* */
  int32_t kernels_compiled; /* by NVRTC, when the program was made here */
  int32_t kernels_cached;   /* that the cache on disk had then */
} attnc_timings;

/* Texts; those marked * exist only with keep_texts. */
enum {
  ATTNC_TEXT_ATTN = 0,     /* * the spec as IR */
  ATTNC_TEXT_RED = 1,      /* * the fused nests with their schedules */
  ATTNC_TEXT_TILE = 2,     /* * the scheduled kernels; GPU targets only */
  ATTNC_TEXT_LLVM = 3,     /* * target cpu only */
  ATTNC_TEXT_MANIFEST = 4, /* JSON: inputs, outputs, sizes, kernels and their launches */
  ATTNC_TEXT_WARNINGS = 5, /* of the frontend; often empty */
  ATTNC_TEXT_CUDA = 6,     /* * of one kernel, as the next two: CUDA C++ */
  ATTNC_TEXT_PTX = 7,  /* this and the next without keep_texts only of what is compiled at once */
  ATTNC_TEXT_CUBIN = 8 /* bytes of an ELF file, not a text */
};

ATTNC_API size_t attnc_program_kernel_count(const attnc_program *program);
ATTNC_API attnc_error *attnc_program_kernel(const attnc_program *program, size_t index,
                                            attnc_kernel_info *info);
ATTNC_API attnc_error *attnc_program_timings(const attnc_program *program, attnc_timings *timings);
/* A text, ended by a zero byte; `length` (may be NULL) gets its bytes without that. NULL if there
 * is none. `kernel` is looked at only for texts of one kernel. */
ATTNC_API const char *attnc_program_text(const attnc_program *program, int32_t which, size_t kernel,
                                         size_t *length);

/*---- running -----------------------------------------------------------------------------------*/

/* A program on a device, ready to be launched. */
typedef struct attnc_loaded attnc_loaded;
/* A program bound to tensors and params, ready to be launched again and again. */
typedef struct attnc_plan attnc_plan;

#define ATTNC_CURRENT_DEVICE (-1)

/* Loads the kernels in the primary context of a GPU, which is the one of PyTorch and of the CUDA
 * runtime. `device` is the GPU's number, or ATTNC_CURRENT_DEVICE for that of the calling thread's
 * context (0 if it has none). Not looked at for the target cpu.
 * Errors: ENVIRONMENT if there is no driver or no such GPU, or if it cannot run the program. */
ATTNC_API attnc_error *attnc_load(const attnc_program *program, int32_t device,
                                  attnc_loaded **loaded);
/* Compiles what waits of the kernels that the program may launch, those of the entry point that was
 * loaded, and loads them on the device. After it a bind neither compiles nor loads, and launches
 * can be captured in a CUDA graph. */
ATTNC_API attnc_error *attnc_warm_up(const attnc_loaded *loaded);
/* The number of its GPU; -1 for the target cpu. */
ATTNC_API int32_t attnc_loaded_device(const attnc_loaded *loaded);
ATTNC_API void attnc_loaded_destroy(attnc_loaded *loaded);

typedef struct attnc_tensor {
  const char *name; /* NULL: the position in the array is the tensor's number */
  void *data;       /* on the device of the kernels; never read or written by this library itself */
  int32_t dtype;
  int32_t rank;
  const int64_t *shape;   /* `rank` extents */
  const int64_t *strides; /* in elements; NULL for C-contiguous */
} attnc_tensor;

typedef struct attnc_param {
  const char *name;
  int32_t is_integer; /* which of the next two counts */
  int64_t integer;
  double real;
} attnc_param;

typedef struct attnc_arguments {
  size_t struct_size;
  const attnc_tensor *tensors; /* all inputs and outputs, in any order if they are named */
  size_t tensor_count;
  const attnc_param *params; /* those that are passed; the others take their defaults */
  size_t param_count;
  /* Most bytes that values between kernels may take, 0 for none at all; NULL for any number. */
  const int64_t *memory_budget;
} attnc_arguments;

/* The shape of tensor number `index` from those of the inputs: `shape` gets as many extents as it
 * has dims. Outputs need not be among the arguments; data, dtypes and strides are not looked at.
 * INVALID_ARGUMENT: shapes that do not fit; a dim that no input carries. */
ATTNC_API attnc_error *attnc_program_shape(const attnc_program *program,
                                           const attnc_arguments *arguments, size_t index,
                                           int64_t *shape);

/* Checks every tensor and param against the program and computes the arguments of its kernels.
 * Dims that no input carries are taken from the outputs' shapes. Outputs may overlap nothing;
 * inputs may overlap each other. Negative strides are refused, and the last axis must be
 * contiguous. Nothing is allocated on the device. INVALID_ARGUMENT: what does not fit, by name; two
 * inputs that disagree about a dim; values between kernels that exceed the memory budget, each with
 * its bytes, its place in the spec and why it is not fused. */
ATTNC_API attnc_error *attnc_bind(const attnc_loaded *loaded, const attnc_arguments *arguments,
                                  attnc_plan **plan);
/* Bytes of scratch memory that a launch of this plan needs; 0 for many. */
ATTNC_API int64_t attnc_plan_workspace_bytes(const attnc_plan *plan);
/* Launches on `stream` (a CUstream of the device; NULL for the default stream) and returns before
 * the work is done. `workspace` is device memory of at least attnc_plan_workspace_bytes, aligned to
 * 256 bytes, that nothing else uses until the work is done; NULL: memory is taken and given back in
 * the order of the stream. The tensors must stay valid until the work is done. Target cpu: stream
 * is not looked at and the work is done on return. Launches of one plan may overlap only where the
 * caller knows that they write the same outputs harmlessly.
 * Errors: ENVIRONMENT with what the driver says, or with what the scratch memory was wanted for if
 * there is not enough. */
ATTNC_API attnc_error *attnc_plan_launch(const attnc_plan *plan, void *stream, void *workspace);
/* The same on other tensors of the same shapes and strides: `data` has their addresses, as many as
 * attnc_program_tensor_count, inputs and then outputs. They are checked as attnc_bind checks them,
 * and must be aligned as the variant needs that was chosen for the first ones; nothing is evaluated
 * again. INVALID_ARGUMENT: what does not fit, by name; bind again where it is the alignment. */
ATTNC_API attnc_error *attnc_plan_launch_at(const attnc_plan *plan, void *const *data, void *stream,
                                            void *workspace);
ATTNC_API void attnc_plan_destroy(attnc_plan *plan);

/* attnc_bind, attnc_plan_launch with memory of its own, attnc_plan_destroy. What a call computes
 * from shapes, strides, params, the memory budget and the alignment of addresses is remembered by
 * `loaded`, for the layouts of the last 256 calls that differ: a call like one before checks its
 * addresses and launches.
 *
 * Whether a pointer is memory of the GPU is asked of the driver when a layout is first seen. With
 * ATTNC_CHECK_POINTERS=1 in the environment of attnc_load it is asked at each attnc_bind,
 * attnc_plan_launch_at and attnc_launch, which takes longer than the call itself. */
ATTNC_API attnc_error *attnc_launch(const attnc_loaded *loaded, const attnc_arguments *arguments,
                                    void *stream);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */
#endif
