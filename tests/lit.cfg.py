"""lit configuration: one file is input, commands and expectations.

Substitutions: %kilnc, %FileCheck, %not, %python, and lit's own %s and %t.
"""
import ctypes.util
import os

import lit.formats

config.name = "kiln"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".test", ".tir"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)

build = lit_config.params["build"]
llvm = lit_config.params["llvm"]
config.test_exec_root = os.path.join(build, "tests", "lit")
config.substitutions += [
    ("%kilnc", os.path.join(build, "kilnc")),
    ("%hip", os.path.join(build, "libkilnhip.so.0")),
    ("%flip", os.path.join(build, "tests", "runtime", "libflip_hip.so")),
    ("%FileCheck", os.path.join(llvm, "FileCheck")),
    ("%not", os.path.join(llvm, "not")),
    ("%python", lit_config.params["python"]),
    ("%src", os.path.dirname(config.test_source_root)),
]
config.environment["NO_COLOR"] = "1"
config.environment["PATH"] = llvm + os.pathsep + os.environ.get("PATH", "")
if ctypes.util.find_library("amd_comgr"):
    config.available_features.add("comgr")
