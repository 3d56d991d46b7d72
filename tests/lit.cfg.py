"""lit configuration: one file is input, commands and expectations.

Substitutions: %kilnc, %FileCheck, %not, %python, %inputs (the folder of what
tests share), lit's own %s and %t, and
  %exit STATUS COMMAND    exits so, and says one sentence where it failed
  %json FILE EXPRESSION   the expression holds for the JSON's value j
  %check NAME             FileCheck of this file's lines NAME
"""
import ctypes.util
import os

import lit.formats

config.name = "kiln"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".test", ".tir"]
config.excludes = ["Inputs"]
HERE = os.path.dirname(__file__)
KIT = os.path.join(HERE, "kit")
config.test_source_root = HERE

build = lit_config.params["build"]
llvm = lit_config.params["llvm"]
FILECHECK = os.path.join(llvm, "FileCheck")
PYTHON = lit_config.params["python"]
config.test_exec_root = os.path.join(build, "tests", "lit")
config.substitutions += [
    ("%kilnc", os.path.join(build, "kilnc")),
    ("%hip", os.path.join(build, "libkilnhip.so.0")),
    ("%flip", os.path.join(build, "tests", "runtime", "libflip_hip.so")),
    ("%seen", os.path.join(build, "tests", "runtime", "libseen_hip.so")),
    ("%check ", FILECHECK + " %s --check-prefix "),
    ("%exit ", "%s %s " % (PYTHON, os.path.join(KIT, "exit.py"))),
    ("%json ", "%s %s " % (PYTHON, os.path.join(KIT, "json_holds.py"))),
    ("%inputs", os.path.join(HERE, "tool", "Inputs")),
    ("%FileCheck", FILECHECK),
    ("%not", os.path.join(llvm, "not")),
    ("%python", PYTHON),
    ("%src", os.path.dirname(HERE)),
]
config.environment["NO_COLOR"] = "1"
config.environment["PATH"] = llvm + os.pathsep + os.environ.get("PATH", "")
if ctypes.util.find_library("amd_comgr"):
    config.available_features.add("comgr")
