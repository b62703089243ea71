import { type Duration, durationMs } from "@bufbuild/protobuf/wkt"
import { book } from "../../../api/book.ts"
import {
  type ExecutionSearchFilter,
  ExecutionType,
} from "../../../gen/core/action/v2/execution_pb.ts"
import type { TargetSearchFilter } from "../../../gen/core/action/v2/target_pb.ts"
import type * as alphaExecution from "../../../gen/core/resources/action/v3alpha/execution_pb.ts"
import type * as alphaTarget from "../../../gen/core/resources/action/v3alpha/target_pb.ts"
import { namesOfType } from "../../../kernel/event/name.ts"
import { fieldError } from "../../../kernel/fault.ts"
import { filterMissingError, meaning } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { conditionOf, functions, type Known, type Said } from "../condition.ts"
import type {
  ExecutionFilter,
  ExecutionSort,
  TargetFilter,
  TargetRow,
  TargetSort,
} from "../list.ts"

// What messages of v2 and of v3alpha have in common: fields, and numbers of their enums.

type TargetType =
  | { readonly case: "restWebhook" | "restCall"; readonly value: { interruptOnError: boolean } }
  | { readonly case: "restAsync"; readonly value: object }
  | { readonly case: undefined; readonly value?: undefined }

/** The kind of a target; undefined where a message states none. */
export function kindOf({ case: kind, value }: TargetType) {
  switch (kind) {
    case "restWebhook":
      return { targetType: "webhook", interruptOnError: value.interruptOnError } as const
    case "restCall":
      return { targetType: "call", interruptOnError: value.interruptOnError } as const
    case "restAsync":
      return { targetType: "async", interruptOnError: false } as const
    default:
      return undefined
  }
}

/** The kind of a target as a message states it. */
export function toKind({ targetType, interruptOnError }: TargetRow) {
  if (targetType === "async") return { case: "restAsync", value: {} } as const
  const value = { interruptOnError }
  return targetType === "call"
    ? ({ case: "restCall", value } as const)
    : ({ case: "restWebhook", value } as const)
}

type NewTarget = {
  readonly name: string
  readonly endpoint: string
  readonly timeout?: Duration | undefined
  readonly targetType: TargetType
}

/** The settings of a new target. */
export function newTargetOf({ name, endpoint, timeout, targetType }: NewTarget) {
  const kind = kindOf(targetType)
  if (!kind) {
    const types = "must be one of rest_webhook, rest_call, rest_async"
    throw fieldError("target.type_missing", "target_type", types)
  }
  return { name, endpoint, timeoutMs: timeout ? durationMs(timeout) : 0, ...kind }
}

/** The settings that a change names. */
export const targetChangeOf = ({
  name,
  endpoint,
  timeout,
  targetType,
}: { readonly [K in keyof NewTarget]?: NewTarget[K] | undefined }) => ({
  ...(name !== undefined && { name }),
  ...(endpoint !== undefined && { endpoint }),
  ...(timeout && { timeoutMs: durationMs(timeout) }),
  ...(targetType && kindOf(targetType)),
})

const targetColumns: readonly TargetSort[] = [
  ...(["created", "id", "created", "changed", "name", "targetType", "endpoint"] as const),
  ...(["timeoutMs", "interruptOnError"] as const),
]

/** What a list of targets is sorted by. */
export const targetSort = (field: number | undefined): TargetSort =>
  meaning(targetColumns, field ?? 0)

type TargetFilters = TargetSearchFilter["filter"] | alphaTarget.TargetSearchFilter["filter"]

export function targetFilterOf({ filter }: { readonly filter: TargetFilters }): TargetFilter {
  switch (filter.case) {
    case "targetNameFilter":
      return { name: filter.value.targetName, method: filter.value.method }
    case "inTargetIdsFilter":
      return { ids: filter.value.targetIds }
    default:
      throw filterMissingError()
  }
}

/** Every service of the book, and every method of these, as their descriptors say. */
const serviceNames = book.map(({ typeName }) => typeName).toSorted()
const methodNames = book
  .flatMap(({ typeName, methods }) => methods.map(({ name }) => `/${typeName}/${name}`))
  .toSorted()

/** The operations that list what a condition can name. */
export const conditionLists = {
  listExecutionFunctions: () => ({ functions: [...functions] }),
  listExecutionMethods: () => ({ methods: methodNames }),
  listExecutionServices: () => ({ services: serviceNames }),
}

const named = { methods: new Set(methodNames), services: new Set<string>(serviceNames) }

/** The id of a condition; faults where it names something that is not there. */
export function idOf(cx: Cx, said: Said | undefined): string {
  const events = cx.store.eventTypes().types.flatMap(namesOfType)
  const known: Known = { ...named, events }
  return conditionOf(said, known)
}

const executionColumns: readonly ExecutionSort[] = ["created", "id", "created", "changed"]

/** What a list of executions is sorted by. */
export const executionSort = (field: number | undefined): ExecutionSort =>
  meaning(executionColumns, field ?? 0)

type ExecutionFilters =
  | ExecutionSearchFilter["filter"]
  | alphaExecution.ExecutionSearchFilter["filter"]

export function executionFilterOf(
  cx: Cx,
  { filter }: { readonly filter: ExecutionFilters },
): ExecutionFilter {
  switch (filter.case) {
    case "inConditionsFilter":
      return { conditions: filter.value.conditions.map((each) => idOf(cx, each)) }
    case "executionTypeFilter":
      return { kind: meaning(executionKinds, filter.value.executionType) }
    case "targetFilter":
      return { target: filter.value.targetId }
    case "includeFilter":
      return { include: idOf(cx, filter.value.include) }
    default:
      throw filterMissingError()
  }
}

const executionKinds = {
  [ExecutionType.REQUEST]: "request",
  [ExecutionType.RESPONSE]: "response",
  [ExecutionType.EVENT]: "event",
  [ExecutionType.FUNCTION]: "function",
} as const
