import type { Doc } from './values/value.js';

/**
 * The names MongoDB gives to its error codes (source: the server's error code table). A code that
 * is not listed here is a bare assertion number and is named `Location<code>`.
 */
const CODE_NAMES: ReadonlyMap<number, string> = new Map([
  [1, 'InternalError'],
  [2, 'BadValue'],
  [4, 'NoSuchKey'],
  [5, 'GraphContainsCycle'],
  [6, 'HostUnreachable'],
  [7, 'HostNotFound'],
  [8, 'UnknownError'],
  [9, 'FailedToParse'],
  [10, 'CannotMutateObject'],
  [11, 'UserNotFound'],
  [12, 'UnsupportedFormat'],
  [13, 'Unauthorized'],
  [14, 'TypeMismatch'],
  [15, 'Overflow'],
  [16, 'InvalidLength'],
  [17, 'ProtocolError'],
  [18, 'AuthenticationFailed'],
  [20, 'IllegalOperation'],
  [21, 'EmptyArrayOperation'],
  [22, 'InvalidBSON'],
  [23, 'AlreadyInitialized'],
  [24, 'LockTimeout'],
  [26, 'NamespaceNotFound'],
  [27, 'IndexNotFound'],
  [28, 'PathNotViable'],
  [29, 'NonExistentPath'],
  [30, 'InvalidPath'],
  [31, 'RoleNotFound'],
  [34, 'CannotBackfillArray'],
  [36, 'RemoteChangeDetected'],
  [38, 'FileNotOpen'],
  [39, 'FileStreamFailed'],
  [40, 'ConflictingUpdateOperators'],
  [43, 'CursorNotFound'],
  [46, 'LockBusy'],
  [47, 'NoMatchingDocument'],
  [48, 'NamespaceExists'],
  [50, 'MaxTimeMSExpired'],
  [51, 'ManualInterventionRequired'],
  [52, 'DollarPrefixedFieldName'],
  [53, 'InvalidIdField'],
  [54, 'NotSingleValueField'],
  [55, 'InvalidDBRef'],
  [56, 'EmptyFieldName'],
  [57, 'DottedFieldName'],
  [58, 'RoleModificationFailed'],
  [59, 'CommandNotFound'],
  [61, 'ShardKeyNotFound'],
  [62, 'OplogOperationUnsupported'],
  [66, 'ImmutableField'],
  [67, 'CannotCreateIndex'],
  [72, 'InvalidOptions'],
  [73, 'InvalidNamespace'],
  [75, 'NoSuchSession'],
  [76, 'NoReplicationEnabled'],
  [79, 'UnknownReplWriteConcern'],
  [82, 'NoProgressMade'],
  [84, 'DuplicateKeyValue'],
  [85, 'IndexOptionsConflict'],
  [86, 'IndexKeySpecsConflict'],
  [89, 'NetworkTimeout'],
  [90, 'CallbackCanceled'],
  [91, 'ShutdownInProgress'],
  [93, 'InvalidReplicaSetConfig'],
  [94, 'NotYetInitialized'],
  [95, 'NotSecondary'],
  [96, 'OperationFailed'],
  [98, 'DBPathInUse'],
  [99, 'SharedResourceExhausted'],
  [100, 'CannotSatisfyWriteConcern'],
  [101, 'OutdatedClient'],
  [107, 'InitialSyncActive'],
  [112, 'WriteConflict'],
  [115, 'CommandNotSupported'],
  [116, 'DocTooLargeForCapped'],
  [117, 'ConflictingOperationInProgress'],
  [121, 'DocumentValidationFailure'],
  [123, 'NotAReplicaSet'],
  [125, 'CommandFailed'],
  [146, 'ExceededMemoryLimit'],
  [165, 'ViewDepthLimitExceeded'],
  [166, 'CommandNotSupportedOnView'],
  [167, 'OptionNotSupportedOnView'],
  [168, 'InvalidPipelineOperator'],
  [169, 'CommandOnShardedViewNotSupportedOnMongod'],
  [170, 'TooManyMatchingDocuments'],
  [171, 'CannotIndexParallelArrays'],
  [175, 'QueryPlanKilled'],
  [182, 'InvalidViewDefinition'],
  [188, 'BSONObjectTooLarge'],
  [189, 'PrimarySteppedDown'],
  [197, 'InvalidIndexSpecificationOption'],
  [202, 'NetworkInterfaceExceededTimeLimit'],
  [211, 'KeyNotFound'],
  [217, 'IncompleteTransactionHistory'],
  [222, 'CloseChangeStream'],
  [224, 'QueryFeatureNotAllowed'],
  [225, 'TransactionTooOld'],
  [226, 'AtomicityFailure'],
  [227, 'CannotImplicitlyCreateCollection'],
  [237, 'CursorKilled'],
  [238, 'NotImplemented'],
  [241, 'ConversionFailure'],
  [244, 'TransactionAborted'],
  [246, 'SnapshotUnavailable'],
  [251, 'NoSuchTransaction'],
  [256, 'TransactionCommitted'],
  [257, 'TransactionTooLarge'],
  [260, 'InvalidResumeToken'],
  [261, 'TooManyLogicalSessions'],
  [262, 'ExceededTimeLimit'],
  [263, 'OperationNotSupportedInTransaction'],
  [280, 'ChangeStreamFatalError'],
  [286, 'ChangeStreamHistoryLost'],
  [290, 'TransactionExceededLifetimeLimitSeconds'],
  [291, 'NoQueryExecutionPlans'],
  [292, 'QueryExceededMemoryLimitNoDiskUseAllowed'],
  [9001, 'SocketException'],
  [10003, 'CannotGrowDocumentInCappedNamespace'],
  [10107, 'NotWritablePrimary'],
  [10334, 'BSONObjectTooLarge'],
  [11000, 'DuplicateKey'],
  [11600, 'InterruptedAtShutdown'],
  [11601, 'Interrupted'],
  [11602, 'InterruptedDueToReplStateChange'],
  [13113, 'MergeStageNoMatchingDocument'],
  [13297, 'DatabaseDifferCase'],
  [13388, 'StaleConfig'],
  [13435, 'NotPrimaryNoSecondaryOk'],
  [13436, 'NotPrimaryOrSecondary'],
]);

/** The name of an error code, as a reply's `codeName` gives it. */
function codeNameOf(code: number): string {
  return CODE_NAMES.get(code) ?? `Location${code}`;
}

/** What a reply may carry beside code and message. */
export interface DbErrorDetails {
  /** `errorLabels` of the reply, e.g. `TransientTransactionError`. */
  labels?: string[];
  /** Further members of the reply or of the write error, e.g. `keyPattern` and `keyValue`. */
  extra?: Doc;
  cause?: unknown;
}

/**
 * A failure with MongoDB's own code, which a client sees as an error reply (or as a write error).
 * Anything else that is thrown below the server is a fault of this server, not of the request.
 */
export class DbError extends Error {
  override readonly name = 'DbError';
  readonly code: number;
  readonly labels?: string[];
  readonly extra?: Doc;

  constructor(code: number, message: string, details: DbErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    if (details.labels) this.labels = details.labels;
    if (details.extra) this.extra = details.extra;
  }

  /** The code's name, e.g. `BadValue`. */
  get codeName(): string {
    return codeNameOf(this.code);
  }
}

/** A `BadValue` (2) error: the value of an option or operator is not one that it takes. */
export function badValue(message: string): DbError {
  return new DbError(2, message);
}

/** A `FailedToParse` (9) error: the form of the request is wrong. */
export function failedToParse(message: string): DbError {
  return new DbError(9, message);
}

/** A `TypeMismatch` (14) error: a value has the wrong BSON type. */
export function typeMismatch(message: string): DbError {
  return new DbError(14, message);
}
