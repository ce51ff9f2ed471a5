# One .mlir file is one test: its RUN lines call attnc-opt and FileCheck.
import os

import lit.formats

config.name = "attnc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.attnc_test_exec_root
config.environment["PATH"] = os.pathsep.join(
    [config.attnc_tools_dir, config.llvm_tools_dir, config.environment.get("PATH", "")]
)
# FileCheck's input is the only thing worth seeing when a test fails.
config.environment["FILECHECK_OPTS"] = "--dump-input=fail --enable-var-scope"

# %through-PASS runs the passes of the front of the pipeline up to and with PASS, and prints values
# under their names in the spec.
pipeline = ["desugar", "lower-to-nests", "reassociate", "fuse-nests", "split", "mask-intervals"]
for number, name in enumerate(pipeline, start=1):
    passes = ",".join(pipeline[:number])
    config.substitutions.append(
        (
            "%through-" + name,
            "attnc-opt --mlir-use-nameloc-as-prefix"
            f" --pass-pipeline='builtin.module(attn.program({passes}))'",
        )
    )

# The whole way to kernels with warpgroups; a test defines %{schedule}, the keys that it depends on:
#   DEFINE: %{schedule} = "groups": 2, "stream_tile": 128
config.recursiveExpansionLimit = 3
for name, after in (("lower-nests", ""), ("emit-cuda", ",emit-cuda")):
    config.substitutions.append(
        (
            "%through-" + name,
            "attnc-opt --mlir-use-nameloc-as-prefix"
            f" --pass-pipeline='builtin.module(attn.program({','.join(pipeline)}),"
            f"choose-schedules{{target=sm_90a override={{{{%{{schedule}}}}}}}},lower-nests{after})'",
        )
    )
