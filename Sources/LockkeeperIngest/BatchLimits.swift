package import LockkeeperDomain

/// The bounds of one queue and of the batches that it is cut into.
package struct BatchLimits: Sendable, Hashable {
    /// Events in one batch.
    package var batchEventCountMax: Int
    /// Bytes in one batch; a single element may be larger and is then a batch alone.
    package var batchByteCountMax: Int
    /// The age of a batch's oldest element at which the batch is ready.
    package var batchAgeMax: Duration
    /// Events in the queue before producers wait.
    package var queueEventCountMax: Int
    /// Bytes in the queue before producers wait.
    package var queueByteCountMax: Int

    /// Takes the queue's and the batch's bounds out of the system's.
    package init(_ limits: Limits) {
        batchEventCountMax = limits.batchEventCountMax
        batchByteCountMax = limits.batchByteCountMax
        batchAgeMax = limits.batchAgeMax
        queueEventCountMax = limits.queueEventCountMax
        queueByteCountMax = limits.queueByteCountMax
    }
}
