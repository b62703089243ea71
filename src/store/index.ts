export { fold, foldName } from "../kernel/text/name.ts"
export {
  type Aggregate,
  type AnyAggregate,
  aggregate,
  type Decision,
  partByKey,
  type Step,
  type Transaction,
  type Upcaster,
} from "./aggregate.ts"
export { cached, cachedBy, ofInstance } from "./cached.ts"
export { diskFaultOf } from "./disk-error.ts"
export type {
  AnyEvent,
  ClaimChange,
  Draft,
  Editor,
  Envelope,
  Erasure,
  Event,
  Receipt,
  Recorded,
} from "./event.ts"
export { openKeyring, prepareMasterKey, readKeyring, shareKeyring } from "./keyring/keyring.ts"
export type { EventFilter } from "./log/event-window.ts"
export type { Moved, Moving } from "./move/move.ts"
export { type OpenOptions, openNode, openStore } from "./open.ts"
export { isPassing, readableByAll } from "./patience.ts"
export {
  failedEvents,
  failureSummary,
  removeFailedEvent,
  retryFailedEvents,
} from "./reactor/book.ts"
export type { FailedEvent, Reactor, Reactors } from "./reactor/reactor.ts"
export { runReactors } from "./reactor/runner.ts"
export { runPruner } from "./retention/pruner.ts"
export type { Filter, Searchable } from "./search/condition.ts"
export { search } from "./search/search.ts"
export type { TextMethod } from "./search/text/text-condition.ts"
export { textFilter } from "./search/text/text-filter.ts"
export { windowOf } from "./search/window.ts"
export { workLease } from "./shared/node.ts"
export { keepProgress, progressOf, shareReactorState } from "./shared/reactor-state.ts"
export { type NodeStanding, otherHistory } from "./shared/shared-log.ts"
export { inSnapshot, type Snapshot, snapshotSize, takeSnapshot } from "./snapshot.ts"
export {
  type AnyHistory,
  type Change,
  former,
  historyOf,
  isReason,
  type Reason,
  reasons,
  type Undo,
  type UndoRequest,
} from "./state/history.ts"
export { type Calls, type Consequence, type Consequences, type Cx, Store } from "./store.ts"
export type { Node } from "./store-parts.ts"
export {
  blob,
  bool,
  type ChangesOf,
  coded,
  integer,
  json,
  nullable,
  type RowOf,
  table,
  text,
  words,
} from "./table.ts"
export { dropBefore, goBack, keptDays, secondsFor, type Upgrading } from "./upgrade/before.ts"
export { snapshotBefore } from "./upgrade/before-keys.ts"
export { foldedOf } from "./upgrade/folded.ts"
export type { PostgresUpgrade } from "./upgrade/postgres.ts"
export { postgresWayBack, type UpgradeStep, waysBack } from "./upgrade/steps.ts"
export { type Upgrade, upgradeOf } from "./upgrade/upgrade.ts"
export { type Statement, statement, systemStatement } from "./view/statement.ts"
export { type View, type ViewWriter, view } from "./view/view.ts"
export { type Channel, channelOf, type Handlers, type Message } from "./worker/channel.ts"
export { openReading } from "./worker/open-reading.ts"
export type { Readers, Resting } from "./worker/readers.ts"
export type { Try, Turn, Writer } from "./worker/writer.ts"
export { writerAt, writingHandlers } from "./worker/writing.ts"

/** What speaks with PostgreSQL: nothing of it is loaded before a log there is asked for. */
export const postgres = () => import("./postgres.ts")
