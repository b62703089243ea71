export { fold, foldName } from "../kernel/text/name.ts"
export {
  type Aggregate,
  type AnyAggregate,
  aggregate,
  type DecisionContext,
  streamPartByKey,
  type Transaction,
  type TransactionResult,
  type Upcaster,
} from "./aggregate.ts"
export { cacheQuery, cacheQueryByKey, perInstance } from "./cached.ts"
export { toDiskFault } from "./disk-error.ts"
export type {
  AnyEvent,
  ClaimChange,
  Draft,
  Editor,
  Envelope,
  Erasure,
  Event,
  PersistedEvent,
  Receipt,
} from "./event.ts"
export { openKeyring, openSharedKeyring, prepareMasterKey, readKeyring } from "./keyring/keyring.ts"
export type { EventFilter } from "./log/event-window.ts"
export type { MoveOptions, MoveResult } from "./move/move.ts"
export { type OpenOptions, openNode, openStore } from "./open.ts"
export {
  listFailedEvents,
  removeFailedEvent,
  retryFailedEvents,
  summarizeFailures,
} from "./reactor/progress.ts"
export type { FailedEvent, Reactor, Reactors } from "./reactor/reactor.ts"
export { runReactors } from "./reactor/runner.ts"
export { runPruner } from "./retention/pruner.ts"
export { isTemporary, writeReadableByAll } from "./retry.ts"
export type { Filter, Searchable } from "./search/condition.ts"
export { search } from "./search/search.ts"
export type { TextMethod } from "./search/text/text-condition.ts"
export { textFilter } from "./search/text/text-filter.ts"
export { paginate } from "./search/window.ts"
export { workLease } from "./shared/node.ts"
export { readProgress, shareReactorState, storeProgress } from "./shared/reactor-state.ts"
export { historyDiffersId, type NodeStatus } from "./shared/shared-log.ts"
export { maxSnapshotSize, readSnapshot, type Snapshot, takeSnapshot } from "./snapshot.ts"
export {
  type AnyHistory,
  type Change,
  formerValues,
  historyOf,
  isNoUndoReason,
  type NoUndoReason,
  noUndoReasons,
  type Undo,
  type UndoRequest,
} from "./state/history.ts"
export { type CallFactory, type Consequence, type Consequences, type Cx, Store } from "./store.ts"
export type { Node } from "./store-parts.ts"
export {
  blob,
  bool,
  type ChangesOf,
  codec,
  integer,
  json,
  nullable,
  type RowOf,
  table,
  text,
  wordList,
} from "./table.ts"
export { foldStreams } from "./upgrade/fold-streams.ts"
export type { PostgresUpgrade } from "./upgrade/postgres.ts"
export { upgradeSnapshotOf } from "./upgrade/snapshot-keys.ts"
export { postgresUndoMethod, type UpgradeStep, undoMethods } from "./upgrade/steps.ts"
export { inspectUpgrade, type Upgrade } from "./upgrade/upgrade.ts"
export {
  dropExpiredSnapshot,
  estimateSeconds,
  keptDays,
  type PendingUpgrade,
  undoUpgrade,
} from "./upgrade/upgrade-snapshot.ts"
export { type Statement, statement, systemStatement } from "./view/statement.ts"
export { type View, type ViewWriter, view } from "./view/view.ts"
export { type Channel, createChannel, type Handlers, type Message } from "./worker/channel.ts"
export type { PausedReaders, ReaderProcesses } from "./worker/readers.ts"
export { openReadingStore } from "./worker/reading-store.ts"
export type { AttemptPermission, QueuedAttempt, Writer } from "./worker/writer.ts"
export { createWriter, createWriterHandlers } from "./worker/writer-channel.ts"

/** The PostgreSQL modules, loaded only if the log is in PostgreSQL. */
export const loadPostgres = () => import("./postgres.ts")
