import { type Duration, durationMs } from "@bufbuild/protobuf/wkt"
import { allServices } from "../../../api/book.ts"
import {
  type ExecutionSearchFilter,
  ExecutionType,
} from "../../../gen/core/action/v2/execution_pb.ts"
import type { TargetSearchFilter } from "../../../gen/core/action/v2/target_pb.ts"
import type * as alphaExecution from "../../../gen/core/resources/action/v3alpha/execution_pb.ts"
import type * as alphaTarget from "../../../gen/core/resources/action/v3alpha/target_pb.ts"
import { namesOfType } from "../../../kernel/event/name.ts"
import { fieldError } from "../../../kernel/fault.ts"
import { filterMissingError, valueOfEnum } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { type ConditionMessage, conditionIdOf, functions, type KnownNames } from "../condition.ts"
import type {
  ExecutionFilter,
  ExecutionSort,
  TargetFilter,
  TargetRow,
  TargetSort,
} from "../list.ts"

// The fields and enum numbers that messages of v2 and v3alpha have in common.

type TargetType =
  | { readonly case: "restWebhook" | "restCall"; readonly value: { interruptOnError: boolean } }
  | { readonly case: "restAsync"; readonly value: object }
  | { readonly case: undefined; readonly value?: undefined }

/** The type of a target; undefined if the message has none. */
export function targetTypeOf({ case: kind, value }: TargetType) {
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

/** The type of a target in a message. */
export function toTargetType({ targetType, interruptOnError }: TargetRow) {
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
export function parseNewTarget({ name, endpoint, timeout, targetType }: NewTarget) {
  const kind = targetTypeOf(targetType)
  if (!kind) {
    const types = "must be one of: rest_webhook, rest_call, rest_async"
    throw fieldError("target.type_missing", "target_type", types)
  }
  return { name, endpoint, timeoutMs: timeout ? durationMs(timeout) : 0, ...kind }
}

/** The settings in an update. */
export const parseTargetUpdate = ({
  name,
  endpoint,
  timeout,
  targetType,
}: { readonly [K in keyof NewTarget]?: NewTarget[K] | undefined }) => ({
  ...(name !== undefined && { name }),
  ...(endpoint !== undefined && { endpoint }),
  ...(timeout && { timeoutMs: durationMs(timeout) }),
  ...(targetType && targetTypeOf(targetType)),
})

const targetColumns: readonly TargetSort[] = [
  ...(["created", "id", "created", "changed", "name", "targetType", "endpoint"] as const),
  ...(["timeoutMs", "interruptOnError"] as const),
]

/** The sort field of a list of targets. */
export const targetSort = (field: number | undefined): TargetSort =>
  valueOfEnum(targetColumns, field ?? 0)

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

/** All services and methods of the API, from their descriptors. */
const serviceNames = allServices.map(({ typeName }) => typeName).toSorted()
const methodNames = allServices
  .flatMap(({ typeName, methods }) => methods.map(({ name }) => `/${typeName}/${name}`))
  .toSorted()

/** The operations that list the names for conditions. */
export const conditionLists = {
  listExecutionFunctions: () => ({ functions: [...functions] }),
  listExecutionMethods: () => ({ methods: methodNames }),
  listExecutionServices: () => ({ services: serviceNames }),
}

const knownNames = { methods: new Set(methodNames), services: new Set<string>(serviceNames) }

/** The ID of a condition; throws if it contains an unknown name. */
export function parseConditionId(cx: Cx, text: ConditionMessage | undefined): string {
  const events = cx.store.eventTypes().types.flatMap(namesOfType)
  const known: KnownNames = { ...knownNames, events }
  return conditionIdOf(text, known)
}

const executionColumns: readonly ExecutionSort[] = ["created", "id", "created", "changed"]

/** The sort field of a list of executions. */
export const executionSort = (field: number | undefined): ExecutionSort =>
  valueOfEnum(executionColumns, field ?? 0)

type ExecutionFilters =
  | ExecutionSearchFilter["filter"]
  | alphaExecution.ExecutionSearchFilter["filter"]

export function executionFilterOf(
  cx: Cx,
  { filter }: { readonly filter: ExecutionFilters },
): ExecutionFilter {
  switch (filter.case) {
    case "inConditionsFilter":
      return { conditions: filter.value.conditions.map((each) => parseConditionId(cx, each)) }
    case "executionTypeFilter":
      return { kind: valueOfEnum(executionKinds, filter.value.executionType) }
    case "targetFilter":
      return { target: filter.value.targetId }
    case "includeFilter":
      return { include: parseConditionId(cx, filter.value.include) }
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
