/* SPDX-License-Identifier: MIT */
/*
 * Compiled, not run, where CUPTI's headers of 13.0 or later are installed: every row of records.def
 * and every struct of callback_data.h against them.
 */
#include <cuda.h>
#include <cupti.h>
#include <cupti_activity_deprecated.h>
#include <stddef.h>

#include "../cupti/callback_data.h"

/* The newest struct of each kind that 13.0 has. */
typedef CUpti_ActivityMemcpy6 newest_MEMCPY;
typedef CUpti_ActivityMemset4 newest_MEMSET;
typedef CUpti_ActivityAPI newest_DRIVER;
typedef CUpti_ActivityAPI newest_RUNTIME;
typedef CUpti_ActivityDevice5 newest_DEVICE;
typedef CUpti_ActivityContext3 newest_CONTEXT;
typedef CUpti_ActivityKernel10 newest_KERNEL;
typedef CUpti_ActivityOverhead3 newest_OVERHEAD;
typedef CUpti_ActivityMemcpyPtoP4 newest_PEER_COPY;
typedef CUpti_ActivityCudaEvent2 newest_CUDA_EVENT;
typedef CUpti_ActivityStream newest_STREAM;
typedef CUpti_ActivitySynchronization2 newest_SYNC;
typedef CUpti_ActivityExternalCorrelation newest_EXTERNAL;
typedef CUpti_ActivityMemory4 newest_MEMORY2;
typedef CUpti_ActivityMemoryPool3 newest_POOL;
typedef CUpti_ActivityGraphTrace2 newest_GRAPH;

/* What CUPTI calls the member of each row. */
#define MEMCPY_copy_kind copyKind
#define MEMCPY_from_kind srcKind
#define MEMCPY_to_kind dstKind
#define MEMCPY_flags flags
#define MEMCPY_bytes bytes
#define MEMCPY_start start
#define MEMCPY_end end
#define MEMCPY_device deviceId
#define MEMCPY_context contextId
#define MEMCPY_stream streamId
#define MEMCPY_correlation correlationId
#define MEMCPY_runtime_correlation runtimeCorrelationId
#define MEMCPY_node graphNodeId
#define MEMCPY_graph graphId
#define MEMCPY_channel channelID
#define MEMCPY_channel_type channelType
#define MEMCPY_device_launched isDeviceLaunched
#define MEMCPY_copy_count copyCount
#define MEMSET_value value
#define MEMSET_bytes bytes
#define MEMSET_start start
#define MEMSET_end end
#define MEMSET_device deviceId
#define MEMSET_context contextId
#define MEMSET_stream streamId
#define MEMSET_correlation correlationId
#define MEMSET_flags flags
#define MEMSET_memory_kind memoryKind
#define MEMSET_node graphNodeId
#define MEMSET_graph graphId
#define MEMSET_channel channelID
#define MEMSET_channel_type channelType
#define MEMSET_device_launched isDeviceLaunched
#define DRIVER_cbid cbid
#define DRIVER_start start
#define DRIVER_end end
#define DRIVER_process processId
#define DRIVER_thread threadId
#define DRIVER_correlation correlationId
#define DRIVER_result returnValue
#define RUNTIME_cbid cbid
#define RUNTIME_start start
#define RUNTIME_end end
#define RUNTIME_process processId
#define RUNTIME_thread threadId
#define RUNTIME_correlation correlationId
#define RUNTIME_result returnValue
#define DEVICE_bandwidth globalMemoryBandwidth
#define DEVICE_memory_bytes globalMemorySize
#define DEVICE_multiprocessors numMultiprocessors
#define DEVICE_major computeCapabilityMajor
#define DEVICE_minor computeCapabilityMinor
#define DEVICE_id id
#define DEVICE_uuid_low uuid
#define DEVICE_uuid_high uuid.bytes[8]
#define DEVICE_name name
#define DEVICE_mig isMigEnabled
#define DEVICE_gpu_instance gpuInstanceId
#define DEVICE_compute_instance computeInstanceId
#define CONTEXT_context contextId
#define CONTEXT_device deviceId
#define CONTEXT_compute_api computeApiKind
#define CONTEXT_null_stream nullStreamId
#define CONTEXT_parent parentContextId
#define CONTEXT_green isGreenContext
#define CONTEXT_multiprocessors numMultiprocessors
#define CONTEXT_cig_mode cigMode
#define KERNEL_registers registersPerThread
#define KERNEL_start start
#define KERNEL_end end
#define KERNEL_device deviceId
#define KERNEL_context contextId
#define KERNEL_stream streamId
#define KERNEL_grid_x gridX
#define KERNEL_grid_y gridY
#define KERNEL_grid_z gridZ
#define KERNEL_block_x blockX
#define KERNEL_block_y blockY
#define KERNEL_block_z blockZ
#define KERNEL_static_shared staticSharedMemory
#define KERNEL_dynamic_shared dynamicSharedMemory
#define KERNEL_local_per_thread localMemoryPerThread
#define KERNEL_local_total localMemoryTotal
#define KERNEL_correlation correlationId
#define KERNEL_grid_id gridId
#define KERNEL_name name
#define KERNEL_queued queued
#define KERNEL_submitted submitted
#define KERNEL_launch_type launchType
#define KERNEL_shared_executed sharedMemoryExecuted
#define KERNEL_node graphNodeId
#define KERNEL_graph graphId
#define KERNEL_channel channelID
#define KERNEL_channel_type channelType
#define KERNEL_cluster_x clusterX
#define KERNEL_cluster_y clusterY
#define KERNEL_cluster_z clusterZ
#define KERNEL_cluster_policy clusterSchedulingPolicy
#define KERNEL_local_total_64 localMemoryTotal_v2
#define KERNEL_max_cluster_size maxPotentialClusterSize
#define KERNEL_max_active_clusters maxActiveClusters
#define KERNEL_device_launched isDeviceLaunched
#define OVERHEAD_overhead_kind overheadKind
#define OVERHEAD_object_kind objectKind
#define OVERHEAD_process objectId.pt.processId
#define OVERHEAD_thread objectId.pt.threadId
#define OVERHEAD_start start
#define OVERHEAD_end end
#define OVERHEAD_correlation correlationId
#define OVERHEAD_data overheadData
#define PEER_COPY_copy_kind copyKind
#define PEER_COPY_from_kind srcKind
#define PEER_COPY_to_kind dstKind
#define PEER_COPY_flags flags
#define PEER_COPY_bytes bytes
#define PEER_COPY_start start
#define PEER_COPY_end end
#define PEER_COPY_device deviceId
#define PEER_COPY_context contextId
#define PEER_COPY_stream streamId
#define PEER_COPY_from_device srcDeviceId
#define PEER_COPY_from_context srcContextId
#define PEER_COPY_to_device dstDeviceId
#define PEER_COPY_to_context dstContextId
#define PEER_COPY_correlation correlationId
#define PEER_COPY_node graphNodeId
#define PEER_COPY_graph graphId
#define PEER_COPY_channel channelID
#define PEER_COPY_channel_type channelType
#define CUDA_EVENT_correlation correlationId
#define CUDA_EVENT_context contextId
#define CUDA_EVENT_stream streamId
#define CUDA_EVENT_event eventId
#define CUDA_EVENT_device deviceId
#define CUDA_EVENT_device_time deviceTimestamp
#define CUDA_EVENT_event_sync cudaEventSyncId
#define STREAM_context contextId
#define STREAM_stream streamId
#define STREAM_priority priority
#define STREAM_flag flag
#define STREAM_correlation correlationId
#define SYNC_sync_type type
#define SYNC_start start
#define SYNC_end end
#define SYNC_correlation correlationId
#define SYNC_context contextId
#define SYNC_stream streamId
#define SYNC_event cudaEventId
#define SYNC_event_sync cudaEventSyncId
#define SYNC_result returnValue
#define EXTERNAL_external_kind externalKind
#define EXTERNAL_external_id externalId
#define EXTERNAL_correlation correlationId
#define MEMORY2_operation memoryOperationType
#define MEMORY2_memory_kind memoryKind
#define MEMORY2_correlation correlationId
#define MEMORY2_address address
#define MEMORY2_bytes bytes
#define MEMORY2_time timestamp
#define MEMORY2_pc PC
#define MEMORY2_process processId
#define MEMORY2_device deviceId
#define MEMORY2_context contextId
#define MEMORY2_stream streamId
#define MEMORY2_name name
#define MEMORY2_async isAsync
#define MEMORY2_pool_type memoryPoolConfig.memoryPoolType
#define MEMORY2_pool_address memoryPoolConfig.address
#define MEMORY2_pool_threshold memoryPoolConfig.releaseThreshold
#define MEMORY2_pool_size memoryPoolConfig.pool.size
#define MEMORY2_pool_used memoryPoolConfig.utilizedSize
#define MEMORY2_source source
#define POOL_operation memoryPoolOperationType
#define POOL_pool_type memoryPoolType
#define POOL_correlation correlationId
#define POOL_process processId
#define POOL_device deviceId
#define POOL_min_bytes minBytesToKeep
#define POOL_address address
#define POOL_size size
#define POOL_threshold releaseThreshold
#define POOL_time timestamp
#define POOL_used utilizedSize
#define POOL_managed isManagedPool
#define GRAPH_correlation correlationId
#define GRAPH_start start
#define GRAPH_end end
#define GRAPH_device deviceId
#define GRAPH_graph graphId
#define GRAPH_context contextId
#define GRAPH_stream streamId
#define GRAPH_end_device endDeviceId
#define GRAPH_end_context endContextId

#define SIM_KIND(kind, number, name)                                                               \
    _Static_assert(CUPTI_ACTIVITY_KIND_##kind == number, "kind " #kind);
#define CUPTI_ACTIVITY_KIND_KERNEL CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
#define CUPTI_ACTIVITY_KIND_PEER_COPY CUPTI_ACTIVITY_KIND_MEMCPY2
#define CUPTI_ACTIVITY_KIND_SYNC CUPTI_ACTIVITY_KIND_SYNCHRONIZATION
#define CUPTI_ACTIVITY_KIND_EXTERNAL CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION
#define CUPTI_ACTIVITY_KIND_POOL CUPTI_ACTIVITY_KIND_MEMORY_POOL
#define CUPTI_ACTIVITY_KIND_GRAPH CUPTI_ACTIVITY_KIND_GRAPH_TRACE
#define SIM_SIZE(kind, api, bytes) enum { bytes_of_##kind##_in_##api = bytes };
#define SIM_FIELD(kind, field, offset, bytes, api)                                                 \
    _Static_assert(offsetof(newest_##kind, kind##_##field) == offset, #kind "." #field);
#include "../cupti/records.def"
#undef SIM_FIELD

/* Widths; what is narrower in the rows than in the struct is half of a longer value. */
#define SIM_FIELD(kind, field, offset, bytes, api)                                                 \
    _Static_assert(sizeof(((newest_##kind *)0)->kind##_##field) >= bytes ||                        \
                       offset == offsetof(CUpti_ActivityDevice5, uuid) + 8,                        \
                   #kind "." #field);
#undef SIM_KIND
#undef SIM_SIZE
#define SIM_KIND(kind, number, name)
#define SIM_SIZE(kind, api, bytes)
#include "../cupti/records.def"

/* Which struct a version writes. */
#define SIZE(kind, api, type)                                                                      \
    _Static_assert(bytes_of_##kind##_in_##api == sizeof(type), #type " is another in API " #api);
SIZE(KERNEL, 13, CUpti_ActivityKernel5)
SIZE(KERNEL, 15, CUpti_ActivityKernel6)
SIZE(KERNEL, 17, CUpti_ActivityKernel7)
SIZE(KERNEL, 18, CUpti_ActivityKernel8)
SIZE(KERNEL, 19, CUpti_ActivityKernel9)
SIZE(KERNEL, 130000, CUpti_ActivityKernel10)
SIZE(MEMCPY, 13, CUpti_ActivityMemcpy3)
SIZE(MEMCPY, 14, CUpti_ActivityMemcpy4)
SIZE(MEMCPY, 17, CUpti_ActivityMemcpy5)
SIZE(MEMCPY, 26, CUpti_ActivityMemcpy6)
SIZE(PEER_COPY, 13, CUpti_ActivityMemcpyPtoP2)
SIZE(PEER_COPY, 14, CUpti_ActivityMemcpyPtoP3)
SIZE(PEER_COPY, 17, CUpti_ActivityMemcpyPtoP4)
SIZE(MEMSET, 13, CUpti_ActivityMemset2)
SIZE(MEMSET, 14, CUpti_ActivityMemset3)
SIZE(MEMSET, 17, CUpti_ActivityMemset4)
SIZE(OVERHEAD, 13, CUpti_ActivityOverhead)
SIZE(OVERHEAD, 20, CUpti_ActivityOverhead2)
SIZE(OVERHEAD, 22, CUpti_ActivityOverhead3)
SIZE(SYNC, 13, CUpti_ActivitySynchronization)
SIZE(SYNC, 26, CUpti_ActivitySynchronization2)
SIZE(CUDA_EVENT, 13, CUpti_ActivityCudaEvent)
SIZE(CUDA_EVENT, 26, CUpti_ActivityCudaEvent2)
SIZE(MEMORY2, 15, CUpti_ActivityMemory2)
SIZE(MEMORY2, 17, CUpti_ActivityMemory3)
SIZE(MEMORY2, 24, CUpti_ActivityMemory4)
SIZE(POOL, 15, CUpti_ActivityMemoryPool)
SIZE(POOL, 17, CUpti_ActivityMemoryPool2)
SIZE(POOL, 130000, CUpti_ActivityMemoryPool3)
SIZE(CONTEXT, 13, CUpti_ActivityContext)
SIZE(CONTEXT, 22, CUpti_ActivityContext2)
SIZE(CONTEXT, 23, CUpti_ActivityContext3)
SIZE(GRAPH, 17, CUpti_ActivityGraphTrace)
SIZE(GRAPH, 21, CUpti_ActivityGraphTrace2)
SIZE(DEVICE, 13, CUpti_ActivityDevice2)
SIZE(DEVICE, 15, CUpti_ActivityDevice4)
SIZE(DEVICE, 18, CUpti_ActivityDevice5)
SIZE(DRIVER, 13, CUpti_ActivityAPI)
SIZE(RUNTIME, 13, CUpti_ActivityAPI)
SIZE(STREAM, 13, CUpti_ActivityStream)
SIZE(EXTERNAL, 13, CUpti_ActivityExternalCorrelation)

/* What callbacks are given. */
#define SAME(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #ours);
#define PLACE(ours, member, theirs, their_member)                                                  \
    _Static_assert(offsetof(ours, member) == offsetof(theirs, their_member), #ours "." #member);
SAME(struct call_info, CUpti_CallbackData)
PLACE(struct call_info, site, CUpti_CallbackData, callbackSite)
PLACE(struct call_info, function, CUpti_CallbackData, functionName)
PLACE(struct call_info, params, CUpti_CallbackData, functionParams)
PLACE(struct call_info, result, CUpti_CallbackData, functionReturnValue)
PLACE(struct call_info, symbol, CUpti_CallbackData, symbolName)
PLACE(struct call_info, context, CUpti_CallbackData, context)
PLACE(struct call_info, context_id, CUpti_CallbackData, contextUid)
PLACE(struct call_info, data, CUpti_CallbackData, correlationData)
PLACE(struct call_info, correlation, CUpti_CallbackData, correlationId)
SAME(struct resource_info, CUpti_ResourceData)
PLACE(struct resource_info, stream, CUpti_ResourceData, resourceHandle)
PLACE(struct resource_info, descriptor, CUpti_ResourceData, resourceDescriptor)
SAME(struct graph_info, CUpti_GraphData)
PLACE(struct graph_info, original_graph, CUpti_GraphData, originalGraph)
PLACE(struct graph_info, node, CUpti_GraphData, node)
PLACE(struct graph_info, original_node, CUpti_GraphData, originalNode)
PLACE(struct graph_info, node_type, CUpti_GraphData, nodeType)
PLACE(struct graph_info, exec, CUpti_GraphData, graphExec)
SAME(struct module_info, CUpti_ModuleResourceData)
PLACE(struct module_info, cubin_size, CUpti_ModuleResourceData, cubinSize)
SAME(struct synchronize_info, CUpti_SynchronizeData)
SAME(struct state_info, CUpti_StateData)
PLACE(struct state_info, message, CUpti_StateData, notification.message)
SAME(struct subscribe_params, CUpti_SubscriberParams)
PLACE(struct subscribe_params, name, CUpti_SubscriberParams, subscriberName)
PLACE(struct subscribe_params, holder, CUpti_SubscriberParams, oldSubscriberName)
PLACE(struct subscribe_params, holder_size, CUpti_SubscriberParams, oldSubscriberSize)
