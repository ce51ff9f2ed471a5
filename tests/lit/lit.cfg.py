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

# %through-PASS runs the front of attnc's pipeline up to and with PASS, and prints values under their
# names in the spec. %through-all runs the whole of it, to kernels with warpgroups, and
# %through-emit-cuda prints them; a test defines %{schedule}, the keys that it depends on:
#   DEFINE: %{schedule} = "groups": 2, "stream_tile": 128
config.recursiveExpansionLimit = 3
opt = "attnc-opt --mlir-use-nameloc-as-prefix --attnc-pipeline="
kernels = opt + "'target=sm_90a override={%{schedule}}'"
config.substitutions += [
    ("%through-all", kernels),
    ("%through-emit-cuda", kernels + " --emit-cuda"),
    ("%through-", opt + "through="),
]
