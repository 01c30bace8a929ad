"""The structs of PJRT's extension for memory layouts, in the notation of ``abi.py``.

Source: openxla/xla, xla/pjrt/c/pjrt_c_api_layouts_extension.h, version 3 (Apache-2.0).
"""

from __future__ import annotations

EXTENSION_TYPE = 4
"""``PJRT_Extension_Type_Layouts``."""

_DEFAULT = "type:int dims:pointer num_dims:size layout:pointer!"

LAYOUT_STRUCTS: dict[str, str] = {
    "PJRT_Layouts_MemoryLayout_Destroy_Args": "head layout:pointer",
    "PJRT_Layouts_MemoryLayout_Serialize_Args": (
        "head layout:pointer serialized_bytes:pointer! serialized_bytes_size:size! serialized_layout:pointer! "
        "serialized_layout_deleter:pointer!"
    ),
    "PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args": f"head client:pointer {_DEFAULT}",
    "PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args": "head buffer:pointer layout:pointer!",
    "PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args": f"head topology_description:pointer {_DEFAULT}",
    "PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args": "head executable:pointer num_outputs:size! layouts:pointer!",
    "PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args": (
        "head executable:pointer num_parameters:size! layouts:pointer!"
    ),
}

LAYOUT_SLOTS = tuple(name.removesuffix("_Args") for name in LAYOUT_STRUCTS)
"""The extension's functions, in the order of their fields."""

LAYOUT_STRUCTS["PJRT_Layouts_Extension"] = " ".join(
    ["struct_size:size type:int next:pointer", *(f"{slot}:pointer" for slot in LAYOUT_SLOTS)]
)
