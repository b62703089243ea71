export { fold, foldName } from "../kernel/name.ts"
export {
  type Aggregate,
  type AnyAggregate,
  aggregate,
  type Command,
  type Upcaster,
} from "./aggregate.ts"
export { diskFaultOf } from "./disk-error.ts"
export type { ClaimChange, Draft, Event, Receipt, Recorded } from "./event.ts"
export { openKeyring } from "./keyring.ts"
export { type OpenOptions, openStore } from "./open.ts"
export { type Pruner, runPruner } from "./pruner.ts"
export { type FailedEvent, type Reactor, type Reactors, runReactors } from "./reactor.ts"
export { ofInstance, remembered, rememberedBy } from "./remembered.ts"
export type { Filter, Searchable, TextMethod } from "./search/condition.ts"
export { search } from "./search/search.ts"
export { textFilter } from "./search/text-filter.ts"
export { windowOf } from "./search/window.ts"
export { type Statement, statement, systemStatement } from "./statement.ts"
export { type Cx, type Decision, type Step, Store, type Transaction } from "./store.ts"
export { type View, type ViewWriter, view } from "./view.ts"
