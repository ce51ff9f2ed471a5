/* Launches the kernels of a program from its PTX files and their .launch.json, with libcuda alone:
 * no attnc, no CUDA toolkit. docs/kernel-abi.md explains each step.
 *   attnc compile causal --target sm_90a --emit ptx --launch-json -o causal.ptx
 *   cc -std=gnu99 -O1 docs/examples/launch_ptx.c -o launch_ptx -ldl -lm
 *   ./launch_ptx causal.launch.json q=q.npy k=k.npy v=v.npy o=o.npy [scale=0.1]
 * Inputs are read, outputs written; params have defaults. Tensors are contiguous and not empty. */
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t address;

/* What is used of the driver. */
#define FUNCTIONS(X)                                                                               \
  X(cuInit, (unsigned))                                                                            \
  X(cuDeviceGet, (int *, int))                                                                     \
  X(cuDeviceGetAttribute, (int *, int, int))                                                       \
  X(cuDevicePrimaryCtxRetain, (void **, int))                                                      \
  X(cuCtxSetCurrent, (void *))                                                                     \
  X(cuCtxSynchronize, (void))                                                                      \
  X(cuMemAlloc_v2, (address *, size_t))                                                            \
  X(cuMemcpyHtoD_v2, (address, const void *, size_t))                                              \
  X(cuMemcpyDtoH_v2, (void *, address, size_t))                                                    \
  X(cuMemsetD32Async, (address, unsigned, size_t, void *))                                         \
  X(cuModuleLoadData, (void **, const void *))                                                     \
  X(cuModuleGetFunction, (void **, void *, const char *))                                          \
  X(cuFuncSetAttribute, (void *, int, int))                                                        \
  X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
                     void *, void **, void **))                                                    \
  X(cuLaunchKernelEx, (const struct config *, void *, void **, void **))                           \
  X(cuTensorMapEncodeTiled, (void *, int, unsigned, address, const uint64_t *, const uint64_t *,   \
                             const uint32_t *, const uint32_t *, int, int, int, int))
/* CUlaunchConfig with attributes. */
struct attribute {
  unsigned id, padding, value[16];
};
struct config {
  unsigned grid[3], block[3], shared_bytes;
  void *stream;
  struct attribute *attributes;
  unsigned attribute_count;
};
#define DECLARE(name, parameters) static int(*name) parameters;
#define LOAD(name, parameters) *(void **)&name = dlsym(driver, #name);
FUNCTIONS(DECLARE)

struct tensor {
  const char *decl; /* its object in the JSON */
  int rank, bytes;  /* of an element */
  int64_t shape[16], strides[16];
  address data;
};

static const char *json, *folder;
static char **arguments;
static struct tensor tensors[256];
static int launched; /* whether a kernel of this call is on the stream */
static int tensor_count, multiprocessors;

static void fail(const char *format, ...) {
  va_list list;
  va_start(list, format);
  vfprintf(stderr, format, list);
  fputc('\n', stderr);
  exit(1);
}

static void check(int result, const char *call) {
  if (result)
    fail("%s: CUDA error %d", call, result);
}

static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file)
    fail("%s cannot be read", path);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *text = calloc(*size + 1, 1);
  if (fread(text, 1, *size, file) != *size)
    fail("%s cannot be read", path);
  fclose(file);
  return text;
}

/* --- JSON, read in place: a value is a pointer to its first character ------------------------ */

static const char *skip(const char *p) { return p + strspn(p, " \n,:"); }

/* Past the value. */
static const char *end_of(const char *p) {
  int depth = 0;
  do {
    if (*p == '"')
      for (++p; *p != '"'; ++p)
        p += *p == '\\';
    depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
    p += strchr("{}[]\"", *p) ? 1 : strcspn(p, "{}[]\", \n");
    p = depth ? skip(p) : p;
  } while (depth);
  return p;
}

static int is(const char *value, const char *text) {
  size_t length = strlen(text);
  return *value == '"' && !strncmp(value + 1, text, length) && value[length + 1] == '"';
}

/* The item of a list, or the key of an object; null beyond the last. */
static const char *item(const char *list, int number) {
  const char *p = skip(list + 1);
  for (; number > 0 && *p != ']' && *p != '}'; --number)
    p = skip(end_of(p));
  return *p == ']' || *p == '}' ? NULL : p;
}

static const char *find(const char *object, const char *key) {
  const char *name;
  for (int n = 0; (name = item(object, n)); n += 2)
    if (is(name, key))
      return item(object, n + 1);
  return NULL;
}

static const char *get(const char *object, const char *key) {
  const char *value = find(object, key);
  if (!value)
    fail("the JSON lacks \"%s\"", key);
  return value;
}

/* A string, up to the next call but seven. */
static const char *text_of(const char *value) {
  static char buffers[8][256];
  static int next;
  char *buffer = buffers[next++ % 8];
  snprintf(buffer, 256, "%.*s", (int)(end_of(value) - value) - 2, value + 1);
  return buffer;
}

/* The object of a list of them that has this name, or null. */
static const char *named(const char *list, const char *name) {
  const char *object;
  for (int n = 0; (object = item(list, n)); ++n)
    if (is(get(object, "name"), name))
      return object;
  return NULL;
}

static const char *argument(const char *name) {
  size_t length = strlen(name);
  for (char **a = arguments; *a; ++a)
    if (!strncmp(*a, name, length) && (*a)[length] == '=')
      return *a + length + 1;
  return NULL;
}

/* --- expressions: 3, 0.5, ["size", "j"], ["ceildiv", ["size", "j"], 64] ---------------------- */

static double value_of(const char *e);

static double size_of(const char *dim) {
  for (int t = 0; t < tensor_count; ++t)
    for (int axis = 0; axis < tensors[t].rank; ++axis)
      if (is(item(get(tensors[t].decl, "dims"), axis), dim))
        return (double)tensors[t].shape[axis];
  return value_of(get(named(get(json, "dims"), dim), "extent"));
}

static double param_of(const char *name) {
  const char *given = argument(name);
  return given ? strtod(given, NULL) : value_of(get(named(get(json, "params"), name), "default"));
}

static double value_of(const char *e) {
  if (*e != '[')
    return strtod(e, NULL);
  const char *op = item(e, 0), *first = item(e, 1), *second = first ? item(e, 2) : NULL;
  if (is(op, "size"))
    return size_of(text_of(first));
  if (is(op, "param"))
    return param_of(text_of(first));
  if (is(op, "let"))
    return value_of(get(named(get(json, "lets"), text_of(first)), "expr"));
  if (is(op, "multiprocessors"))
    return multiprocessors;
  double a = value_of(first);
  if (is(op, "select"))
    return value_of(a != 0 ? second : item(e, 3));
  if (is(op, "and") || is(op, "or"))
    return (a != 0) == is(op, "or") ? a != 0 : value_of(second) != 0;
  double b = second ? value_of(second) : 0;
#define OPERATION(name, value)                                                                     \
  if (is(op, name))                                                                                \
    return value;
  OPERATION("add", a + b) OPERATION("sub", a - b) OPERATION("mul", a * b) OPERATION("div", a / b)
  OPERATION("floordiv", floor(a / b)) OPERATION("ceildiv", ceil(a / b))
  OPERATION("mod", a - b * floor(a / b)) OPERATION("min", fmin(a, b)) OPERATION("max", fmax(a, b))
  OPERATION("neg", -a) OPERATION("not", a == 0) OPERATION("sqrt", sqrt(a)) OPERATION("exp", exp(a))
  OPERATION("rsqrt", 1 / sqrt(a)) OPERATION("log", log(a)) OPERATION("pow", pow(a, b))
  OPERATION("eq", a == b) OPERATION("ne", a != b) OPERATION("lt", a < b) OPERATION("le", a <= b)
  OPERATION("gt", a > b) OPERATION("ge", a >= b)
  fail("unknown operation %s", text_of(op));
  return 0;
}

/* --- tensors --------------------------------------------------------------------------------- */

static const struct {
  const char *name, *npy;
  int bytes;
} types[] = {{"f16", "<f2", 2}, {"bf16", "<u2", 2}, {"f32", "<f4", 4}, {"f64", "<f8", 8},
             {"i8", "|i1", 1},  {"i32", "<i4", 4},  {"i64", "<i8", 8}, {"u8", "|u1", 1}};

static int type_of(const char *decl) {
  int type = 0;
  while (!is(get(decl, "dtype"), types[type].name))
    ++type;
  return type;
}

static struct tensor *add_tensor(const char *decl) {
  if (tensor_count == sizeof tensors / sizeof *tensors)
    fail("more than %d tensors", tensor_count);
  struct tensor *t = &tensors[tensor_count];
  t->decl = decl;
  t->bytes = types[type_of(decl)].bytes;
  while (item(get(decl, "dims"), t->rank))
    ++t->rank;
  if (t->rank > 16)
    fail("a tensor has more than 16 axes");
  return t;
}

static int64_t set_strides(struct tensor *t) {
  int64_t elements = 1;
  for (int axis = t->rank; axis-- > 0; elements *= t->shape[axis])
    t->strides[axis] = elements;
  ++tensor_count;
  return elements * t->bytes;
}

static void read_input(const char *decl) {
  struct tensor *t = add_tensor(decl);
  const char *name = text_of(get(decl, "name")), *path = argument(name);
  if (!path)
    fail("give %s=FILE.npy", name);
  size_t size;
  char *file = read_file(path, &size);
  size_t header = 10 + (uint8_t)file[8] + 256 * (size_t)(uint8_t)file[9]; /* of version 1 */
  char *shape = strchr(strstr(file + 10, "'shape'"), '(') + 1;
  for (int axis = 0; axis < t->rank; ++axis, shape += strspn(shape, ", "))
    t->shape[axis] = strtoll(shape, &shape, 10);
  size_t bytes = (size_t)set_strides(t);
  if (!bytes || bytes != size - header)
    fail("%s is not an array of %d axes of %s", path, t->rank, types[type_of(decl)].name);
  check(cuMemAlloc_v2(&t->data, bytes), "cuMemAlloc");
  check(cuMemcpyHtoD_v2(t->data, file + header, bytes), "cuMemcpyHtoD");
  free(file);
}

/* An output, or an intermediate, which says itself how it is laid out. */
static void make_tensor(const char *decl) {
  struct tensor *t = add_tensor(decl);
  for (int axis = 0; axis < t->rank; ++axis)
    t->shape[axis] = (int64_t)size_of(text_of(item(get(decl, "dims"), axis)));
  int64_t bytes = set_strides(t);
  if (find(decl, "strides")) {
    for (int axis = 0; axis < t->rank; ++axis)
      t->strides[axis] = (int64_t)value_of(item(get(decl, "strides"), axis));
    bytes = (int64_t)value_of(get(decl, "bytes"));
  }
  check(cuMemAlloc_v2(&t->data, (size_t)bytes), "cuMemAlloc");
}

static void write_output(const struct tensor *t) {
  const char *path = argument(text_of(get(t->decl, "name")));
  if (!path)
    return;
  char shape[256] = "", header[384];
  for (int axis = 0; axis < t->rank; ++axis)
    sprintf(shape + strlen(shape), "%lld, ", (long long)t->shape[axis]);
  int length = sprintf(header, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                       types[type_of(t->decl)].npy, shape);
  size_t bytes = (size_t)(t->shape[0] * t->strides[0] * t->bytes);
  char *data = malloc(bytes);
  FILE *file = fopen(path, "wb");
  if (!file)
    fail("%s cannot be written", path);
  int whole = (10 + length + 64) / 64 * 64 - 10; /* with blanks and a line break at its end */
  check(cuMemcpyDtoH_v2(data, t->data, bytes), "cuMemcpyDtoH");
  fprintf(file, "\x93NUMPY%c%c%c%c%-*s\n", 1, 0, whole % 256, whole / 256, whole - 1, header);
  if (fwrite(data, 1, bytes, file) != bytes || fclose(file))
    fail("%s cannot be written", path);
  free(data);
}

static struct tensor *tensor(const char *name) {
  for (int t = 0; t < tensor_count; ++t)
    if (is(get(tensors[t].decl, "name"), text_of(name)))
      return &tensors[t];
  fail("there is no tensor %s", text_of(name));
  return NULL;
}

/* --- launches -------------------------------------------------------------------------------- */

/* Whether the sizes are those of a variant, and its tensors as aligned as it needs them. */
static int fits(const char *variant) {
  const char *when = find(variant, "when"), *aligned = find(variant, "aligned"), *name;
  if (when && value_of(when) == 0)
    return 0;
  for (int n = 0; aligned && (name = item(aligned, n)); n += 2)
    for (int axis = 0; axis + 1 < tensor(name)->rank; ++axis)
      if (tensor(name)->shape[axis] > 1 && /* the address is that of an allocation */
          tensor(name)->strides[axis] * tensor(name)->bytes % atoi(item(aligned, n + 1)))
        return 0;
  return 1;
}

static void encode(void *map, const struct tensor *t, const char *how) {
  uint64_t extents[5], strides[5];
  uint32_t box[5], element_strides[5];
  for (int n = 0; n < t->rank; ++n) { /* the innermost axis first */
    int axis = t->rank - 1 - n;
    extents[n] = (uint64_t)t->shape[axis];
    if (n)
      strides[n - 1] = t->shape[axis] > 1 ? (uint64_t)(t->strides[axis] * t->bytes) : 16;
    box[n] = (uint32_t)atoi(item(get(how, "box"), n));
    element_strides[n] = (uint32_t)atoi(item(get(how, "element_strides"), n));
  }
  check(cuTensorMapEncodeTiled(map, atoi(get(how, "data_type")), (unsigned)t->rank, t->data,
                               extents, strides, box, element_strides,
                               atoi(get(how, "interleave")), atoi(get(how, "swizzle")),
                               atoi(get(how, "l2_promotion")), atoi(get(how, "fill"))),
        "cuTensorMapEncodeTiled");
}

/* Writes one argument to its place in the buffer of parameters. */
static void put(char *slot, const char *arg, const char *parameter) {
  const char *kind = get(parameter, "kind"), *type = get(parameter, "type"), *what = item(arg, 1);
  if (is(kind, "tensor_map")) {
    encode(slot, tensor(what), get(parameter, "encode"));
  } else if (is(kind, "pointer")) {
    const char *offset = find(arg, "offset"); /* in elements */
    address at = tensor(what)->data;
    at += offset ? (address)value_of(offset) * (address)tensor(what)->bytes : 0;
    memcpy(slot, &at, 8);
  } else if (is(kind, "stride")) {
    memcpy(slot, &tensor(item(what, 0))->strides[atoi(item(what, 1))], 8);
  } else if (is(kind, "counter")) {
    address counter;
    check(cuMemAlloc_v2(&counter, 4), "cuMemAlloc");
    check(cuMemsetD32Async(counter, 0, 1, NULL), "cuMemsetD32Async");
    memcpy(slot, &counter, 8);
  } else {
    double value = is(kind, "size")    ? size_of(text_of(what))
                   : is(kind, "param") ? param_of(text_of(what))
                                       : value_of(get(arg, "expr"));
    if (is(type, "float"))
      memcpy(slot, &(float){(float)value}, 4);
    else if (is(type, "int32_t"))
      memcpy(slot, &(int32_t){(int32_t)value}, 4);
    else if (is(type, "double"))
      memcpy(slot, &value, 8);
    else
      memcpy(slot, &(int64_t){(int64_t)value}, 8);
  }
}

static void *load(const char *kernel) {
  char path[4096];
  size_t size;
  void *module, *function;
  const char *attribute;
  snprintf(path, sizeof path, "%s%s", folder, text_of(get(kernel, "file")));
  char *image = read_file(path, &size);
  check(cuModuleLoadData(&module, image), "cuModuleLoadData");
  free(image);
  check(cuModuleGetFunction(&function, module, text_of(get(kernel, "symbol"))),
        "cuModuleGetFunction");
  for (int n = 0; (attribute = item(get(kernel, "attributes"), n)); ++n)
    check(cuFuncSetAttribute(function, atoi(get(attribute, "attribute")),
                             (int)value_of(get(attribute, "value"))),
          "cuFuncSetAttribute");
  return function;
}

static void launch(const char *launch) {
  static char buffer[4096] __attribute__((aligned(64))); /* tensor maps are at multiples of 64 */
  void *values[64];
  const char *kernel = named(get(json, "kernels"), text_of(get(launch, "kernel"))), *parameter;
  for (int n = 0; (parameter = item(get(kernel, "parameters"), n)); ++n) {
    int offset = atoi(get(parameter, "offset"));
    if (offset + atoi(get(parameter, "bytes")) > (int)sizeof buffer)
      fail("parameters of more than %d bytes", (int)sizeof buffer);
    if (n == 64)
      fail("more than %d parameters", n);
    values[n] = buffer + offset;
    put(values[n], item(get(launch, "args"), n), parameter);
  }
  unsigned grid[3];
  for (int axis = 0; axis < 3; ++axis)
    if (!(grid[axis] = (unsigned)value_of(item(get(launch, "grid"), axis))))
      return;
  unsigned threads = (unsigned)atoi(get(kernel, "threads"));
  unsigned shared_bytes = (unsigned)value_of(get(kernel, "shared_bytes"));
  enum { cluster_dimension = 4, programmatic_stream_serialization = 6 };
  struct attribute attributes[2];
  unsigned count = 0;
  if (find(kernel, "cluster"))
    attributes[count++] = (struct attribute){
        cluster_dimension, 0, {(unsigned)atoi(get(kernel, "cluster")), 1, 1}};
  if (find(kernel, "starts_early") && launched)
    attributes[count++] = (struct attribute){programmatic_stream_serialization, 0, {1}};
  launched = 1;
  if (count) {
    struct config config = {
        {grid[0], grid[1], grid[2]}, {threads, 1, 1}, shared_bytes, NULL, attributes, count};
    check(cuLaunchKernelEx(&config, load(kernel), values, NULL), "cuLaunchKernelEx");
    return;
  }
  check(cuLaunchKernel(load(kernel), grid[0], grid[1], grid[2], threads, 1, 1, shared_bytes, NULL,
                       values, NULL),
        "cuLaunchKernel");
}

static void each(const char *list, void (*use)(const char *)) {
  const char *one;
  for (int n = 0; (one = item(list, n)); ++n)
    use(one);
}

/* Loops are not in this example; of guards the kernels take care. */
static void know(const char *need) {
  if (!is(need, "offsets") && !is(need, "guards"))
    fail("the program needs %s", text_of(need));
}

static void require(const char *fact) {
  if (value_of(get(fact, "expr")) == 0)
    fail("not so: %s", text_of(get(fact, "text")));
}

int main(int count, char **values) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context;
  int device;
  size_t size;
  if (count < 2)
    fail("usage: launch_ptx NAME.launch.json TENSOR=FILE.npy... PARAM=VALUE...");
  if (!driver)
    fail("there is no CUDA driver");
  FUNCTIONS(LOAD)
  arguments = values + 2;
  json = read_file(values[1], &size);
  char *slash = strrchr(values[1], '/');
  folder = slash ? (slash[1] = 0, values[1]) : "";
  check(cuInit(0), "cuInit");
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuDeviceGetAttribute(&multiprocessors, 16, device), "cuDeviceGetAttribute");
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");

  if (find(json, "needs"))
    each(find(json, "needs"), know);
  each(get(json, "inputs"), read_input);
  each(get(json, "requires"), require);
  int outputs = tensor_count;
  each(get(json, "outputs"), make_tensor);
  int intermediates = tensor_count;
  each(get(json, "intermediates"), make_tensor);
  int variant = 0;
  while (item(get(json, "variants"), variant) && !fits(item(get(json, "variants"), variant)))
    ++variant;
  if (!item(get(json, "variants"), variant))
    fail("no variant serves these tensors");
  each(get(item(get(json, "variants"), variant), "launches"), launch);
  check(cuCtxSynchronize(), "cuCtxSynchronize");
  for (int t = outputs; t < intermediates; ++t)
    write_output(&tensors[t]);
  return 0;
}
