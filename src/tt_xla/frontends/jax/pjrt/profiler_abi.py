"""The structs of PJRT's extension for profilers, in the notation of ``abi.py``.

Source: openxla/xla, xla/pjrt/c/pjrt_c_api_profiler_extension.h and xla/backends/profiler/plugin/profiler_c_api.h
(Apache-2.0).
"""

from __future__ import annotations

EXTENSION_TYPE = 1
"""``PJRT_Extension_Type_Profiler``."""

_HANDLE = "struct_size:size profiler:pointer"

PROFILER_STRUCTS: dict[str, str] = {
    "PLUGIN_Profiler_Create_Args": "struct_size:size options:pointer options_size:size profiler:pointer!",
    "PLUGIN_Profiler_Destroy_Args": _HANDLE,
    "PLUGIN_Profiler_Start_Args": _HANDLE,
    "PLUGIN_Profiler_Stop_Args": _HANDLE,
    "PLUGIN_Profiler_CollectData_Args": f"{_HANDLE} buffer:pointer! buffer_size_in_bytes:size!",
}

PROFILER_SLOTS = tuple(name.removesuffix("_Args") for name in PROFILER_STRUCTS)
"""The extension's functions, in the order of their fields."""

ERROR_SLOTS = ("PJRT_Error_Destroy", "PJRT_Error_Message", "PJRT_Error_GetCode")
"""Functions of ``PJRT_Api`` that describe the errors of a profiler; their arguments are the same."""

PROFILER_STRUCTS["PLUGIN_Profiler_Api"] = " ".join(
    ["struct_size:size priv:pointer", *(f"{slot}:pointer" for slot in ERROR_SLOTS + PROFILER_SLOTS)]
)
PROFILER_STRUCTS["PJRT_Profiler_Extension"] = (
    "struct_size:size type:int next:pointer profiler_api:pointer traceme_context_id:int64"
)
