import { namesOfType } from "../../kernel/event/name.ts"
import { type Fault, fieldError } from "../../kernel/fault.ts"

// A condition for calling targets, as a text that is also the ID of the execution:
// "request/core.user.v2.UserService/CreateUser", "request/core.user.v2.UserService", "request"; the
// same for "response"; "function/preuserinfo"; "event/user.added", "event/user.human.*", "event".

export const kinds = ["request", "response", "event", "function"] as const
export type Kind = (typeof kinds)[number]

/** The functions that create tokens, userinfo responses and SAML responses. */
export const functions = ["preuserinfo", "preaccesstoken", "presamlresponse"] as const
export type FunctionName = (typeof functions)[number]

type ConditionValue<Name extends string> =
  | { readonly case: Name; readonly value: string }
  | { readonly case: "all"; readonly value: boolean }
  | { readonly case: undefined; readonly value?: undefined }

type OperationCondition = {
  readonly condition: ConditionValue<"method"> | ConditionValue<"service">
}

/** A condition in requests of both API versions. */
export type ConditionMessage = {
  readonly conditionType:
    | { readonly case: "request" | "response"; readonly value: OperationCondition }
    | { readonly case: "function"; readonly value: { readonly name: string } }
    | {
        readonly case: "event"
        readonly value: { readonly condition: ConditionValue<"event"> | ConditionValue<"group"> }
      }
    | { readonly case: undefined; readonly value?: undefined }
}

/** The names that conditions can contain. */
export type KnownNames = {
  /** "/core.user.v2.UserService/CreateUser". */
  readonly methods: ReadonlySet<string>
  readonly services: ReadonlySet<string>
  /** Event types by their stored names and their API names. */
  readonly events: readonly string[]
}

/** The ID of a condition. Throws if it contains an unknown name. */
export function conditionIdOf(message: ConditionMessage | undefined, names: KnownNames): string {
  const type = message?.conditionType
  switch (type?.case) {
    case "request":
    case "response":
      return operationConditionId(type.case, type.value.condition, names)
    case "function":
      return functionConditionId(type.value.name)
    case "event":
      return eventConditionId(type.value.condition, names.events)
    default:
      throw emptyError("condition", "request, response, function or event")
  }
}

function operationConditionId(
  kind: "request" | "response",
  { case: valueKind, value }: OperationConditionValue,
  names: KnownNames,
) {
  if (valueKind === "method") {
    const path = value.startsWith("/") ? value : `/${value}`
    if (!names.methods.has(path)) throw unknownError(`condition.${kind}.method`, "method", value)
    return `${kind}${path}`
  }
  if (valueKind === "service") {
    if (!names.services.has(value))
      throw unknownError(`condition.${kind}.service`, valueKind, value)
    return `${kind}/${value}`
  }
  if (valueKind === "all" && value) return kind
  throw emptyError(`condition.${kind}`, "method, service or all")
}

type OperationConditionValue = OperationCondition["condition"]

function functionConditionId(name: string): string {
  if (functions.some((each) => each === name)) return `function/${name}`
  throw fieldError(
    "execution.condition_unknown",
    "condition.function.name",
    `must be one of: ${functions.join(", ")}`,
  )
}

function eventConditionId(
  { case: valueKind, value }: ConditionValue<"event"> | ConditionValue<"group">,
  events: readonly string[],
) {
  if (valueKind === "event") {
    if (!events.includes(value)) throw unknownError("condition.event.event", "event type", value)
    return `event/${value}`
  }
  if (valueKind === "group") {
    const group = value.replace(/\.\*$/, "")
    if (!events.some((type) => type.startsWith(`${group}.`))) {
      throw unknownError("condition.event.group", "group of event types", value)
    }
    return `event/${group}.*`
  }
  if (valueKind === "all" && value) return "event"
  throw emptyError("condition.event", "event, group or all")
}

const shownMax = 100

const unknownError = (field: string, kindName: string, value: string): Fault =>
  fieldError(
    "execution.condition_unknown",
    field,
    `contains an unknown ${kindName}: "${value.slice(0, shownMax)}"`,
  )

const emptyError = (field: string, alternatives: string): Fault =>
  fieldError("execution.condition_missing", field, `one of these is required: ${alternatives}`)

export const kindOf = (id: string): Kind => {
  const found = kinds.find((each) => id === each || id.startsWith(`${each}/`))
  if (found) return found
  throw new Error(`${id} is not the ID of a condition`)
}

/** A condition as an API message. */
export function toCondition(id: string) {
  const kind = kindOf(id)
  const name = id.slice(kind.length + 1)
  if (kind === "function") return { conditionType: { case: kind, value: { name } } } as const
  if (kind === "event") {
    const isGroup = name.endsWith(".*")
    const valueKind =
      name === ""
        ? ({ case: "all", value: true } as const)
        : isGroup
          ? ({ case: "group", value: name.slice(0, -2) } as const)
          : ({ case: "event", value: name } as const)
    return { conditionType: { case: kind, value: { condition: valueKind } } } as const
  }
  const valueKind =
    name === ""
      ? ({ case: "all", value: true } as const)
      : name.includes("/")
        ? ({ case: "method", value: `/${name}` } as const)
        : ({ case: "service", value: name } as const)
  return { conditionType: { case: kind, value: { condition: valueKind } } } as const
}

/**
 * The conditions that match an operation, the most specific first: "core.user.v2.UserService/…".
 */
export const conditionsOf = (kind: "request" | "response", method: string): readonly string[] => [
  `${kind}/${method}`,
  `${kind}/${method.slice(0, method.indexOf("/"))}`,
  kind,
]

/**
 * The conditions that match an event by any of its names, the most specific first; equally specific
 * ones in the order of the names.
 */
export function conditionsOfEvent(names: readonly string[]): readonly string[] {
  const groups = names.flatMap((name) => {
    const parts = name.split(".")
    return parts.map((_, at) => parts.slice(0, at)).slice(1)
  })
  const exact = groups.toSorted((a, b) => b.length - a.length)
  const conditions = [
    ...names.map((name) => `event/${name}`),
    ...exact.map((group) => `event/${group.join(".")}.*`),
    "event",
  ]
  return [...new Set(conditions)]
}

/** The stored event types that match a condition by any of their names. */
export function matchingEventTypes(id: string, types: readonly string[]): readonly string[] {
  if (id === "event") return types
  const name = id.slice("event/".length)
  const fits = name.endsWith(".*")
    ? (each: string) => each.startsWith(name.slice(0, -1))
    : (each: string) => each === name
  return types.filter((type) => namesOfType(type).some(fits))
}
