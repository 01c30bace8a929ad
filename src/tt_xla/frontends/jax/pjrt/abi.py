"""The structs of the PJRT C API, version 0.114. Made by generate_abi.py; do not edit.

Each struct lists its fields in order as ``name:type``, separated by spaces. A type is a key of ``structs.TYPES`` or the
name of a struct held by value; every pointer is ``pointer``; ``head`` stands for ``struct_size:size
extension_start:pointer``. The callee sets the fields marked ``!``.

Source: openxla/xla, xla/pjrt/c/pjrt_c_api.h (Apache-2.0).
"""

from __future__ import annotations

VERSION = (0, 114)

ENUMS: dict[str, dict[str, int]] = {
    "PJRT_Error_Code": {
        "OK": 0,
        "CANCELLED": 1,
        "UNKNOWN": 2,
        "INVALID_ARGUMENT": 3,
        "DEADLINE_EXCEEDED": 4,
        "NOT_FOUND": 5,
        "ALREADY_EXISTS": 6,
        "PERMISSION_DENIED": 7,
        "RESOURCE_EXHAUSTED": 8,
        "FAILED_PRECONDITION": 9,
        "ABORTED": 10,
        "OUT_OF_RANGE": 11,
        "UNIMPLEMENTED": 12,
        "INTERNAL": 13,
        "UNAVAILABLE": 14,
        "DATA_LOSS": 15,
        "UNAUTHENTICATED": 16,
    },
    "PJRT_NamedValue_Type": {
        "PJRT_NamedValue_kString": 0,
        "PJRT_NamedValue_kInt64": 1,
        "PJRT_NamedValue_kInt64List": 2,
        "PJRT_NamedValue_kFloat": 3,
        "PJRT_NamedValue_kBool": 4,
    },
    "PJRT_Buffer_Type": {
        "INVALID": 0,
        "PRED": 1,
        "S8": 2,
        "S16": 3,
        "S32": 4,
        "S64": 5,
        "U8": 6,
        "U16": 7,
        "U32": 8,
        "U64": 9,
        "F16": 10,
        "F32": 11,
        "F64": 12,
        "BF16": 13,
        "C64": 14,
        "C128": 15,
        "F8E5M2": 16,
        "F8E4M3FN": 17,
        "F8E4M3B11FNUZ": 18,
        "F8E5M2FNUZ": 19,
        "F8E4M3FNUZ": 20,
        "S4": 21,
        "U4": 22,
        "TOKEN": 23,
        "S2": 24,
        "U2": 25,
        "F8E4M3": 26,
        "F8E3M4": 27,
        "F8E8M0FNU": 28,
        "F4E2M1FN": 29,
        "S1": 30,
        "U1": 31,
        "F6E2M3FN": 32,
        "F6E3M2FN": 33,
    },
}

STRUCTS: dict[str, str] = {
    "PJRT_Extension_Base": "struct_size:size type:int next:pointer",
    "PJRT_Api_Version": "head major_version:int! minor_version:int!",
    "PJRT_Error_Destroy_Args": "head error:pointer",
    "PJRT_Error_Message_Args": "head error:pointer message:pointer! message_size:size!",
    "PJRT_Error_FunctionTable": (
        "struct_size:size instance_size:size extension_start:pointer destroy:pointer message:pointer "
        "get_code:pointer for_each_payload:pointer"
    ),
    "PJRT_Error": "vtable:pointer",
    "PJRT_Error_GetCode_Args": "head error:pointer code:int!",
    "PJRT_Error_ForEachPayload_Args": "head error:pointer visitor:pointer user_arg:pointer",
    "PJRT_NamedValue": "head name:pointer name_size:size type:int value:pointer value_size:size",
    "PJRT_Plugin_Initialize_Args": "head",
    "PJRT_Plugin_Attributes_Args": "head attributes:pointer! num_attributes:size!",
    "PJRT_Event_Destroy_Args": "head event:pointer",
    "PJRT_Event_IsReady_Args": "head event:pointer is_ready:bool!",
    "PJRT_Event_Error_Args": "head event:pointer",
    "PJRT_Event_Await_Args": "head event:pointer",
    "PJRT_Event_OnReady_Args": "head event:pointer callback:pointer user_arg:pointer",
    "PJRT_Event_Create_Args": "head event:pointer!",
    "PJRT_Event_Set_Args": "head event:pointer error_code:int error_message:pointer error_message_size:size",
    "PJRT_Memory_FunctionTable": "head instance_struct_size:size get_user_data:pointer set_user_data:pointer",
    "PJRT_Memory": "vtable:pointer",
    "PJRT_KeyValueGetCallback_Args": (
        "head key:pointer key_size:size timeout_in_ms:int callback_error:pointer user_arg:pointer value:pointer! "
        "value_size:size! value_deleter_callback:pointer!"
    ),
    "PJRT_KeyValueTryGetCallback_Args": (
        "head key:pointer key_size:size callback_error:pointer user_arg:pointer value:pointer! value_size:size! "
        "value_deleter_callback:pointer!"
    ),
    "PJRT_KeyValuePutCallback_Args": (
        "head key:pointer key_size:size value:pointer value_size:size callback_error:pointer user_arg:pointer"
    ),
    "PJRT_Client_Create_Args": (
        "head create_options:pointer num_options:size kv_get_callback:pointer kv_get_user_arg:pointer "
        "kv_put_callback:pointer kv_put_user_arg:pointer client:pointer! kv_try_get_callback:pointer "
        "kv_try_get_user_arg:pointer"
    ),
    "PJRT_Client_Destroy_Args": "head client:pointer",
    "PJRT_Client_PlatformName_Args": "head client:pointer platform_name:pointer! platform_name_size:size!",
    "PJRT_Client_ProcessIndex_Args": "head client:pointer process_index:int!",
    "PJRT_Client_PlatformVersion_Args": "head client:pointer platform_version:pointer! platform_version_size:size!",
    "PJRT_Client_TopologyDescription_Args": "head client:pointer topology:pointer!",
    "PJRT_Client_Devices_Args": "head client:pointer devices:pointer! num_devices:size!",
    "PJRT_Client_AddressableDevices_Args": (
        "head client:pointer addressable_devices:pointer! num_addressable_devices:size!"
    ),
    "PJRT_Client_LookupDevice_Args": "head client:pointer id:int device:pointer!",
    "PJRT_Client_LookupAddressableDevice_Args": "head client:pointer local_hardware_id:int addressable_device:pointer!",
    "PJRT_ProcessInfo": (
        "struct_size:size task_id:int incarnation_id:uint64 state:int error_code:int error_message:pointer "
        "error_message_size:size"
    ),
    "PJRT_Client_UpdateGlobalProcessInfo_Args": "head client:pointer process_infos:pointer num_process_infos:size",
    "PJRT_Client_AddressableMemories_Args": (
        "head client:pointer addressable_memories:pointer! num_addressable_memories:size!"
    ),
    "PJRT_Program": "head code:pointer! code_size:size format:pointer format_size:size",
    "PJRT_Client_Compile_Args": (
        "head client:pointer program:pointer compile_options:pointer compile_options_size:size executable:pointer!"
    ),
    "PJRT_Client_Load_Args": (
        "head client:pointer executable:pointer compile_options:pointer compile_options_size:size "
        "loaded_executable:pointer!"
    ),
    "PJRT_Client_DefaultDeviceAssignment_Args": (
        "head client:pointer num_replicas:int num_partitions:int default_assignment_size:size "
        "default_assignment:pointer"
    ),
    "PJRT_Client_DmaMap_Args": "head client:pointer data:pointer size:size",
    "PJRT_Client_DmaUnmap_Args": "head client:pointer data:pointer",
    "PJRT_AsyncHostToDeviceTransferManager_Destroy_Args": "head transfer_manager:pointer",
    "PJRT_AsyncHostToDeviceTransferManager_TransferData_Args": (
        "head transfer_manager:pointer buffer_index:int data:pointer offset:int64 transfer_size:int64 "
        "is_last_transfer:bool done_with_h2d_transfer:pointer!"
    ),
    "PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args": (
        "head transfer_manager:pointer buffer_index:int buffer_out:pointer!"
    ),
    "PJRT_AsyncHostToDeviceTransferManager_Device_Args": "head transfer_manager:pointer device_out:pointer!",
    "PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args": "head transfer_manager:pointer buffer_count:size!",
    "PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args": (
        "head transfer_manager:pointer buffer_index:int buffer_size:size!"
    ),
    "PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args": (
        "head transfer_manager:pointer buffer_index:int error_code:int error_message:pointer error_message_size:size"
    ),
    "PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args": (
        "head transfer_manager:pointer transfer_metadata:pointer num_metadata:size"
    ),
    "PJRT_Buffer_MemoryLayout_Tiled": (
        "head minor_to_major:pointer minor_to_major_size:size tile_dims:pointer tile_dim_sizes:pointer num_tiles:size"
    ),
    "PJRT_Buffer_MemoryLayout_Strides": "head byte_strides:pointer num_byte_strides:size",
    "PJRT_Buffer_MemoryLayout": "head value:PJRT_Buffer_MemoryLayout_Tiled type:int",
    "PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args": (
        "head transfer_manager:pointer buffer_index:int data:pointer shape_dims:pointer shape_num_dims:size "
        "shape_element_type:int shape_layout:pointer done_with_h2d_transfer:pointer!"
    ),
    "PJRT_Client_CreateUninitializedBuffer_Args": (
        "head client:pointer shape_dims:pointer shape_num_dims:size shape_element_type:int shape_layout:pointer "
        "device:pointer memory:pointer buffer:pointer!"
    ),
    "PJRT_Client_CreateErrorBuffer_Args": (
        "head client:pointer error_code:int error_message:pointer error_message_size:size shape_dims:pointer "
        "shape_num_dims:size shape_element_type:int shape_layout:pointer memory:pointer buffer:pointer! "
        "payload:pointer num_payload:size"
    ),
    "PJRT_Client_CreateAliasBuffer_Args": (
        "head client:pointer memory:pointer shape_dims:pointer shape_num_dims:size shape_element_type:int "
        "shape_layout:pointer alias_buffer:pointer! fulfill_alias_buffer_cb:pointer!"
    ),
    "PJRT_Client_FulfillAliasBuffer_Args": (
        "head client:pointer buffer:pointer status_code:int error_message:pointer error_message_size:size "
        "fulfill_alias_buffer_cb:pointer"
    ),
    "PJRT_Client_BufferFromHostBuffer_Args": (
        "head client:pointer data:pointer type:int dims:pointer num_dims:size byte_strides:pointer "
        "num_byte_strides:size host_buffer_semantics:int device:pointer memory:pointer device_layout:pointer "
        "done_with_host_buffer:pointer! buffer:pointer!"
    ),
    "PJRT_Client_CreateViewOfDeviceBuffer_Args": (
        "head client:pointer device_buffer_ptr:pointer dims:pointer num_dims:size element_type:int layout:pointer "
        "device:pointer on_delete_callback:pointer on_delete_callback_arg:pointer stream:int64 buffer:pointer! "
        "memory:pointer"
    ),
    "PJRT_ShapeSpec": "head dims:pointer num_dims:size element_type:int",
    "PJRT_Client_CreateBuffersForAsyncHostToDevice_Args": (
        "head client:pointer shape_specs:pointer num_shape_specs:size device_layouts:pointer "
        "num_device_layouts:size memory:pointer transfer_manager:pointer!"
    ),
    "PJRT_DeviceDescription_Id_Args": "head device_description:pointer id:int!",
    "PJRT_DeviceDescription_ProcessIndex_Args": "head device_description:pointer process_index:int!",
    "PJRT_DeviceDescription_Attributes_Args": (
        "head device_description:pointer num_attributes:size! attributes:pointer!"
    ),
    "PJRT_DeviceDescription_Kind_Args": "head device_description:pointer device_kind:pointer! device_kind_size:size!",
    "PJRT_DeviceDescription_DebugString_Args": (
        "head device_description:pointer debug_string:pointer! debug_string_size:size!"
    ),
    "PJRT_DeviceDescription_ToString_Args": "head device_description:pointer to_string:pointer! to_string_size:size!",
    "PJRT_Device_GetDescription_Args": "head device:pointer device_description:pointer!",
    "PJRT_Device_IsAddressable_Args": "head device:pointer is_addressable:bool!",
    "PJRT_Device_LocalHardwareId_Args": "head device:pointer local_hardware_id:int!",
    "PJRT_Device_AddressableMemories_Args": "head device:pointer memories:pointer! num_memories:size!",
    "PJRT_Device_DefaultMemory_Args": "head device:pointer memory:pointer!",
    "PJRT_Device_MemoryStats_Args": (
        "head device:pointer bytes_in_use:int64! peak_bytes_in_use:int64! peak_bytes_in_use_is_set:bool! "
        "num_allocs:int64! num_allocs_is_set:bool! largest_alloc_size:int64! largest_alloc_size_is_set:bool! "
        "bytes_limit:int64! bytes_limit_is_set:bool! bytes_reserved:int64! bytes_reserved_is_set:bool! "
        "peak_bytes_reserved:int64! peak_bytes_reserved_is_set:bool! bytes_reservable_limit:int64! "
        "bytes_reservable_limit_is_set:bool! largest_free_block_bytes:int64! "
        "largest_free_block_bytes_is_set:bool! pool_bytes:int64! pool_bytes_is_set:bool! peak_pool_bytes:int64! "
        "peak_pool_bytes_is_set:bool! peak_allocated_bytes:int64! peak_allocated_bytes_is_set:bool!"
    ),
    "PJRT_Device_ClearMemoryStats_Args": "head device:pointer",
    "PJRT_Device_PoisonExecution_Args": (
        "head device:pointer launch_id:int error_code:int error_message:pointer error_message_size:size "
        "poisoned:bool! payload:pointer num_payload:size"
    ),
    "PJRT_Device_GetAttributes_Args": (
        "head device:pointer attributes:pointer! num_attributes:size! device_attributes:pointer! "
        "attributes_deleter:pointer!"
    ),
    "PJRT_Device_CreateAsyncTrackingEvent_Args": (
        "head device:pointer description:pointer description_size:size event:pointer!"
    ),
    "PJRT_AsyncTrackingEvent_Destroy_Args": "head event:pointer",
    "PJRT_Memory_Id_Args": "head memory:pointer id:int!",
    "PJRT_Memory_Kind_Args": "head memory:pointer kind:pointer! kind_size:size!",
    "PJRT_Memory_Kind_Id_Args": "head memory:pointer kind_id:int!",
    "PJRT_Memory_DebugString_Args": "head memory:pointer debug_string:pointer! debug_string_size:size!",
    "PJRT_Memory_ToString_Args": "head memory:pointer to_string:pointer! to_string_size:size!",
    "PJRT_Memory_AddressableByDevices_Args": "head memory:pointer devices:pointer! num_devices:size!",
    "PJRT_ExecuteContext_Create_Args": "head context:pointer!",
    "PJRT_ExecuteContext_Destroy_Args": "head context:pointer",
    "PJRT_Executable_Destroy_Args": "head executable:pointer",
    "PJRT_LoadedExecutable_Destroy_Args": "head executable:pointer",
    "PJRT_LoadedExecutable_GetExecutable_Args": "head loaded_executable:pointer executable:pointer!",
    "PJRT_LoadedExecutable_GetDeviceAssignment_Args": (
        "head executable:pointer serialized_bytes:pointer! serialized_bytes_size:size! "
        "serialized_device_assignment:pointer serialized_device_assignment_deleter:pointer!"
    ),
    "PJRT_Executable_Name_Args": "head executable:pointer executable_name:pointer! executable_name_size:size!",
    "PJRT_Executable_NumReplicas_Args": "head executable:pointer num_replicas:size!",
    "PJRT_Executable_NumPartitions_Args": "head executable:pointer num_partitions:size!",
    "PJRT_LogicalDeviceIds": "replica:int partition:int",
    "PJRT_LoadedExecutable_AddressableDevices_Args": (
        "head executable:pointer addressable_devices:pointer! num_addressable_devices:size!"
    ),
    "PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args": (
        "head executable:pointer addressable_device_logical_ids:pointer! num_addressable_device_logical_ids:size!"
    ),
    "PJRT_Executable_OptimizedProgram_Args": "head executable:pointer program:pointer!",
    "PJRT_LoadedExecutable_Delete_Args": "head executable:pointer",
    "PJRT_LoadedExecutable_IsDeleted_Args": "head executable:pointer is_deleted:bool!",
    "PJRT_Chunk": "data:pointer size:size deleter:pointer deleter_arg:pointer",
    "PJRT_SendCallbackInfo": "channel_id:int64 user_arg:pointer send_callback:pointer",
    "PJRT_RecvCallbackInfo": "channel_id:int64 user_arg:pointer recv_callback:pointer",
    "PJRT_HloOutputCallbackInfo": "user_arg:pointer callback:pointer callback_id:int64 num_operands:size",
    "PJRT_ExecuteOptions": (
        "head send_callbacks:pointer recv_callbacks:pointer num_send_ops:size num_recv_ops:size launch_id:int "
        "non_donatable_input_indices:pointer num_non_donatable_input_indices:size context:pointer "
        "call_location:pointer num_tasks:size task_ids:pointer incarnation_ids:pointer multi_slice_config:pointer "
        "use_major_to_minor_data_layout_for_callbacks:bool hlo_output_callbacks:pointer "
        "num_hlo_output_callbacks:size"
    ),
    "PJRT_LoadedExecutable_Execute_Args": (
        "head executable:pointer options:pointer argument_lists:pointer num_devices:size num_args:size "
        "output_lists:pointer! device_complete_events:pointer! execute_device:pointer"
    ),
    "PJRT_Executable_NumOutputs_Args": "head executable:pointer num_outputs:size!",
    "PJRT_Executable_SizeOfGeneratedCodeInBytes_Args": "head executable:pointer size_in_bytes:int64!",
    "PJRT_Executable_Fingerprint_Args": (
        "head executable:pointer executable_fingerprint:pointer! executable_fingerprint_size:size!"
    ),
    "PJRT_Executable_GetCostAnalysis_Args": "head executable:pointer num_properties:size! properties:pointer!",
    "PJRT_Executable_GetCompiledMemoryStats_Args": (
        "head executable:pointer generated_code_size_in_bytes:int64! argument_size_in_bytes:int64! "
        "output_size_in_bytes:int64! alias_size_in_bytes:int64! temp_size_in_bytes:int64! "
        "host_generated_code_size_in_bytes:int64! host_argument_size_in_bytes:int64! "
        "host_output_size_in_bytes:int64! host_alias_size_in_bytes:int64! host_temp_size_in_bytes:int64! "
        "peak_memory_in_bytes:int64! total_size_in_bytes:int64! total_allocation_bytes:int64! "
        "indefinite_allocations:int64! peak_unpadded_heap_bytes:int64!"
    ),
    "PJRT_Executable_OutputElementTypes_Args": "head executable:pointer output_types:pointer! num_output_types:size!",
    "PJRT_Executable_OutputDimensions_Args": (
        "head executable:pointer num_outputs:size dims:pointer! dim_sizes:pointer!"
    ),
    "PJRT_Executable_ParameterMemoryKinds_Args": (
        "head executable:pointer num_parameters:size memory_kinds:pointer! memory_kind_sizes:pointer!"
    ),
    "PJRT_Executable_OutputMemoryKinds_Args": (
        "head executable:pointer num_outputs:size memory_kinds:pointer! memory_kind_sizes:pointer!"
    ),
    "PJRT_Executable_Serialize_Args": (
        "head executable:pointer serialized_bytes:pointer! serialized_bytes_size:size! "
        "serialized_executable:pointer serialized_executable_deleter:pointer!"
    ),
    "PJRT_Executable_GetCompileOptions_Args": (
        "head executable:pointer serialized_bytes:pointer! serialized_bytes_size:size! "
        "serialized_compile_options:pointer serialized_compile_options_deleter:pointer!"
    ),
    "PJRT_LoadOptions": (
        "struct_size:size computation_origin:pointer computation_origin_size:size multi_slice_config:pointer"
    ),
    "PJRT_Executable_DeserializeAndLoad_Args": (
        "head client:pointer serialized_executable:pointer serialized_executable_size:size "
        "loaded_executable:pointer! overridden_serialized_compile_options:pointer "
        "overridden_serialized_compile_options_size:size load_options:pointer"
    ),
    "PJRT_LoadedExecutable_Fingerprint_Args": (
        "head executable:pointer executable_fingerprint:pointer! executable_fingerprint_size:size!"
    ),
    "PJRT_Buffer_Destroy_Args": "head buffer:pointer",
    "PJRT_Buffer_ElementType_Args": "head buffer:pointer type:int!",
    "PJRT_Buffer_Dimensions_Args": "head buffer:pointer dims:pointer! num_dims:size!",
    "PJRT_Buffer_UnpaddedDimensions_Args": "head buffer:pointer unpadded_dims:pointer! num_dims:size!",
    "PJRT_Buffer_DynamicDimensionIndices_Args": (
        "head buffer:pointer dynamic_dim_indices:pointer! num_dynamic_dims:size!"
    ),
    "PJRT_Buffer_GetMemoryLayout_Args": "head buffer:pointer layout:PJRT_Buffer_MemoryLayout!",
    "PJRT_Buffer_ToHostBuffer_Args": "head src:pointer host_layout:pointer dst:pointer! dst_size:size! event:pointer!",
    "PJRT_Buffer_OnDeviceSizeInBytes_Args": "head buffer:pointer on_device_size_in_bytes:size!",
    "PJRT_Buffer_Delete_Args": "head buffer:pointer",
    "PJRT_Buffer_IsDeleted_Args": "head buffer:pointer is_deleted:bool!",
    "PJRT_Buffer_CopyRawToHost_Args": "head buffer:pointer dst:pointer offset:int64 transfer_size:int64 event:pointer!",
    "PJRT_Buffer_CopyRawToHostFuture_Callback_Args": (
        "struct_size:size callback_data:pointer error_code:int error_message:pointer error_message_size:size "
        "dst:pointer"
    ),
    "PJRT_Buffer_CopyRawToHostFuture_Args": (
        "head buffer:pointer offset:int64 transfer_size:int64 event:pointer! callback_data:pointer! "
        "future_ready_callback:pointer!"
    ),
    "PJRT_Buffer_CopyToDevice_Args": "head buffer:pointer dst_device:pointer dst_buffer:pointer!",
    "PJRT_Buffer_CopyToMemory_Args": "head buffer:pointer dst_memory:pointer dst_buffer:pointer!",
    "PJRT_Buffer_Bitcast_Args": (
        "head buffer:pointer element_type:int dims:pointer num_dims:size device_layout:pointer out_buffer:pointer!"
    ),
    "PJRT_Buffer_IsOnCpu_Args": "head buffer:pointer is_on_cpu:bool!",
    "PJRT_Buffer_Device_Args": "head buffer:pointer device:pointer!",
    "PJRT_Buffer_Memory_Args": "head buffer:pointer memory:pointer!",
    "PJRT_Buffer_ReadyEvent_Args": "head buffer:pointer event:pointer!",
    "PJRT_Buffer_UnsafePointer_Args": "head buffer:pointer buffer_pointer:pointer!",
    "PJRT_Buffer_IncreaseExternalReferenceCount_Args": "head buffer:pointer",
    "PJRT_Buffer_DecreaseExternalReferenceCount_Args": "head buffer:pointer",
    "PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args": "head buffer:pointer device_memory_ptr:pointer!",
    "PJRT_Buffer_DonateWithControlDependency_Callback_Args": (
        "struct_size:size callback_data:pointer error_code:int error_message:pointer error_message_size:size"
    ),
    "PJRT_Buffer_DonateWithControlDependency_Args": (
        "head buffer:pointer callback_data:pointer! dependency_ready_callback:pointer! out_buffer:pointer!"
    ),
    "PJRT_CopyToDeviceStream_Destroy_Args": "head stream:pointer",
    "PJRT_CopyToDeviceStream_AddChunk_Args": "head stream:pointer chunk:pointer transfer_complete:pointer!",
    "PJRT_CopyToDeviceStream_TotalBytes_Args": "head stream:pointer total_bytes:int64!",
    "PJRT_CopyToDeviceStream_GranuleSize_Args": "head stream:pointer granule_size_in_bytes:int64!",
    "PJRT_CopyToDeviceStream_CurrentBytes_Args": "head stream:pointer current_bytes:int64!",
    "PJRT_TopologyDescription_Create_Args": (
        "head topology_name:pointer topology_name_size:size create_options:pointer num_options:size topology:pointer!"
    ),
    "PJRT_TopologyDescription_Destroy_Args": "head topology:pointer",
    "PJRT_TopologyDescription_PlatformVersion_Args": (
        "head topology:pointer platform_version:pointer! platform_version_size:size!"
    ),
    "PJRT_TopologyDescription_PlatformName_Args": (
        "head topology:pointer platform_name:pointer! platform_name_size:size!"
    ),
    "PJRT_TopologyDescription_GetDeviceDescriptions_Args": (
        "head topology:pointer descriptions:pointer! num_descriptions:size!"
    ),
    "PJRT_TopologyDescription_Serialize_Args": (
        "head topology:pointer serialized_bytes:pointer! serialized_bytes_size:size! serialized_topology:pointer! "
        "serialized_topology_deleter:pointer!"
    ),
    "PJRT_TopologyDescription_Deserialize_Args": (
        "head serialized_topology:pointer serialized_topology_size:size topology:pointer!"
    ),
    "PJRT_TopologyDescription_Attributes_Args": "head topology:pointer attributes:pointer! num_attributes:size!",
    "PJRT_TopologyDescription_Fingerprint_Args": "head topology:pointer fingerprint:uint64!",
    "PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args": (
        "head topology:pointer memory_space_kind_id:int dims:pointer num_dims:size element_type:int "
        "layout:pointer serialized_shape:pointer! serialized_shape_size:size! serialized_shape_deleter:pointer!"
    ),
    "PJRT_TopologyDescription_GetMemorySpaceKindIds_Args": (
        "head topology:pointer memory_space_kind_ids:pointer! num_memory_space_kind_ids:size!"
    ),
    "PJRT_Compile_Args": (
        "head topology:pointer program:pointer compile_options:pointer compile_options_size:size client:pointer "
        "executable:pointer!"
    ),
}

SLOTS: tuple[str, ...] = (
    "PJRT_Error_Destroy",
    "PJRT_Error_Message",
    "PJRT_Error_GetCode",
    "PJRT_Plugin_Initialize",
    "PJRT_Plugin_Attributes",
    "PJRT_Event_Destroy",
    "PJRT_Event_IsReady",
    "PJRT_Event_Error",
    "PJRT_Event_Await",
    "PJRT_Event_OnReady",
    "PJRT_Client_Create",
    "PJRT_Client_Destroy",
    "PJRT_Client_PlatformName",
    "PJRT_Client_ProcessIndex",
    "PJRT_Client_PlatformVersion",
    "PJRT_Client_Devices",
    "PJRT_Client_AddressableDevices",
    "PJRT_Client_LookupDevice",
    "PJRT_Client_LookupAddressableDevice",
    "PJRT_Client_AddressableMemories",
    "PJRT_Client_Compile",
    "PJRT_Client_DefaultDeviceAssignment",
    "PJRT_Client_BufferFromHostBuffer",
    "PJRT_DeviceDescription_Id",
    "PJRT_DeviceDescription_ProcessIndex",
    "PJRT_DeviceDescription_Attributes",
    "PJRT_DeviceDescription_Kind",
    "PJRT_DeviceDescription_DebugString",
    "PJRT_DeviceDescription_ToString",
    "PJRT_Device_GetDescription",
    "PJRT_Device_IsAddressable",
    "PJRT_Device_LocalHardwareId",
    "PJRT_Device_AddressableMemories",
    "PJRT_Device_DefaultMemory",
    "PJRT_Device_MemoryStats",
    "PJRT_Memory_Id",
    "PJRT_Memory_Kind",
    "PJRT_Memory_DebugString",
    "PJRT_Memory_ToString",
    "PJRT_Memory_AddressableByDevices",
    "PJRT_Executable_Destroy",
    "PJRT_Executable_Name",
    "PJRT_Executable_NumReplicas",
    "PJRT_Executable_NumPartitions",
    "PJRT_Executable_NumOutputs",
    "PJRT_Executable_SizeOfGeneratedCodeInBytes",
    "PJRT_Executable_GetCostAnalysis",
    "PJRT_Executable_OutputMemoryKinds",
    "PJRT_Executable_OptimizedProgram",
    "PJRT_Executable_Serialize",
    "PJRT_LoadedExecutable_Destroy",
    "PJRT_LoadedExecutable_GetExecutable",
    "PJRT_LoadedExecutable_AddressableDevices",
    "PJRT_LoadedExecutable_Delete",
    "PJRT_LoadedExecutable_IsDeleted",
    "PJRT_LoadedExecutable_Execute",
    "PJRT_Executable_DeserializeAndLoad",
    "PJRT_LoadedExecutable_Fingerprint",
    "PJRT_Buffer_Destroy",
    "PJRT_Buffer_ElementType",
    "PJRT_Buffer_Dimensions",
    "PJRT_Buffer_UnpaddedDimensions",
    "PJRT_Buffer_DynamicDimensionIndices",
    "PJRT_Buffer_GetMemoryLayout",
    "PJRT_Buffer_OnDeviceSizeInBytes",
    "PJRT_Buffer_Device",
    "PJRT_Buffer_Memory",
    "PJRT_Buffer_Delete",
    "PJRT_Buffer_IsDeleted",
    "PJRT_Buffer_CopyToDevice",
    "PJRT_Buffer_ToHostBuffer",
    "PJRT_Buffer_IsOnCpu",
    "PJRT_Buffer_ReadyEvent",
    "PJRT_Buffer_UnsafePointer",
    "PJRT_Buffer_IncreaseExternalReferenceCount",
    "PJRT_Buffer_DecreaseExternalReferenceCount",
    "PJRT_Buffer_OpaqueDeviceMemoryDataPointer",
    "PJRT_CopyToDeviceStream_Destroy",
    "PJRT_CopyToDeviceStream_AddChunk",
    "PJRT_CopyToDeviceStream_TotalBytes",
    "PJRT_CopyToDeviceStream_GranuleSize",
    "PJRT_CopyToDeviceStream_CurrentBytes",
    "PJRT_TopologyDescription_Create",
    "PJRT_TopologyDescription_Destroy",
    "PJRT_TopologyDescription_PlatformName",
    "PJRT_TopologyDescription_PlatformVersion",
    "PJRT_TopologyDescription_GetDeviceDescriptions",
    "PJRT_TopologyDescription_Serialize",
    "PJRT_TopologyDescription_Attributes",
    "PJRT_Compile",
    "PJRT_Executable_OutputElementTypes",
    "PJRT_Executable_OutputDimensions",
    "PJRT_Buffer_CopyToMemory",
    "PJRT_Client_CreateViewOfDeviceBuffer",
    "PJRT_Executable_Fingerprint",
    "PJRT_Client_TopologyDescription",
    "PJRT_Executable_GetCompiledMemoryStats",
    "PJRT_Memory_Kind_Id",
    "PJRT_ExecuteContext_Create",
    "PJRT_ExecuteContext_Destroy",
    "PJRT_Buffer_CopyRawToHost",
    "PJRT_AsyncHostToDeviceTransferManager_Destroy",
    "PJRT_AsyncHostToDeviceTransferManager_TransferData",
    "PJRT_Client_CreateBuffersForAsyncHostToDevice",
    "PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer",
    "PJRT_AsyncHostToDeviceTransferManager_Device",
    "PJRT_AsyncHostToDeviceTransferManager_BufferCount",
    "PJRT_AsyncHostToDeviceTransferManager_BufferSize",
    "PJRT_AsyncHostToDeviceTransferManager_SetBufferError",
    "PJRT_AsyncHostToDeviceTransferManager_AddMetadata",
    "PJRT_Client_DmaMap",
    "PJRT_Client_DmaUnmap",
    "PJRT_Client_CreateUninitializedBuffer",
    "PJRT_Client_UpdateGlobalProcessInfo",
    "PJRT_TopologyDescription_Deserialize",
    "PJRT_Client_CreateAliasBuffer",
    "PJRT_Client_FulfillAliasBuffer",
    "PJRT_LoadedExecutable_GetDeviceAssignment",
    "PJRT_Client_CreateErrorBuffer",
    "PJRT_AsyncHostToDeviceTransferManager_TransferLiteral",
    "PJRT_Buffer_CopyRawToHostFuture",
    "PJRT_Device_PoisonExecution",
    "PJRT_Device_CreateAsyncTrackingEvent",
    "PJRT_AsyncTrackingEvent_Destroy",
    "PJRT_Executable_GetCompileOptions",
    "PJRT_Buffer_DonateWithControlDependency",
    "PJRT_Event_Create",
    "PJRT_Event_Set",
    "PJRT_Device_GetAttributes",
    "PJRT_Client_Load",
    "PJRT_LoadedExecutable_AddressableDeviceLogicalIds",
    "PJRT_Buffer_Bitcast",
    "PJRT_Error_ForEachPayload",
    "PJRT_TopologyDescription_Fingerprint",
    "PJRT_Executable_ParameterMemoryKinds",
    "PJRT_Device_ClearMemoryStats",
    "PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace",
    "PJRT_TopologyDescription_GetMemorySpaceKindIds",
)
"""The functions of ``PJRT_Api``, in order."""
