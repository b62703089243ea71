import { namesOfType } from "../../kernel/event/name.ts"
import { type Fault, fieldError } from "../../kernel/fault.ts"

// When targets are called, as one text, which is also the id of the execution:
// "request/core.user.v2.UserService/CreateUser", "request/core.user.v2.UserService", "request";
// "response…" likewise; "function/preuserinfo"; "event/user.added", "event/user.human.*", "event".

export const kinds = ["request", "response", "event", "function"] as const
export type Kind = (typeof kinds)[number]

/** Where tokens, userinfo and SAML responses are put together. */
export const functions = ["preuserinfo", "preaccesstoken", "presamlresponse"] as const
export type FunctionName = (typeof functions)[number]

type One<Name extends string> =
  | { readonly case: Name; readonly value: string }
  | { readonly case: "all"; readonly value: boolean }
  | { readonly case: undefined; readonly value?: undefined }

type OfOperation = { readonly condition: One<"method"> | One<"service"> }

/** A condition as both versions of the interface say it. */
export type Said = {
  readonly conditionType:
    | { readonly case: "request" | "response"; readonly value: OfOperation }
    | { readonly case: "function"; readonly value: { readonly name: string } }
    | {
        readonly case: "event"
        readonly value: { readonly condition: One<"event"> | One<"group"> }
      }
    | { readonly case: undefined; readonly value?: undefined }
}

/** What conditions may name. */
export type Known = {
  /** "/core.user.v2.UserService/CreateUser". */
  readonly methods: ReadonlySet<string>
  readonly services: ReadonlySet<string>
  /** Types of events: as they are stored, and as the interface names them. */
  readonly events: readonly string[]
}

/** The id of a condition. Faults where it names something that is not there. */
export function conditionOf(said: Said | undefined, known: Known): string {
  const type = said?.conditionType
  switch (type?.case) {
    case "request":
    case "response":
      return ofOperation(type.case, type.value.condition, known)
    case "function":
      return ofFunction(type.value.name)
    case "event":
      return ofEvent(type.value.condition, known.events)
    default:
      throw emptyError("condition", "request, response, function or event")
  }
}

function ofOperation(kind: "request" | "response", { case: by, value }: Named, known: Known) {
  if (by === "method") {
    const path = value.startsWith("/") ? value : `/${value}`
    if (!known.methods.has(path)) throw unknownError(`condition.${kind}.method`, "method", value)
    return `${kind}${path}`
  }
  if (by === "service") {
    if (!known.services.has(value)) throw unknownError(`condition.${kind}.service`, by, value)
    return `${kind}/${value}`
  }
  if (by === "all" && value) return kind
  throw emptyError(`condition.${kind}`, "method, service or all")
}

type Named = OfOperation["condition"]

function ofFunction(name: string): string {
  if (functions.some((each) => each === name)) return `function/${name}`
  throw fieldError(
    "execution.condition_unknown",
    "condition.function.name",
    `must be one of ${functions.join(", ")}`,
  )
}

function ofEvent({ case: by, value }: One<"event"> | One<"group">, events: readonly string[]) {
  if (by === "event") {
    if (!events.includes(value)) throw unknownError("condition.event.event", "event type", value)
    return `event/${value}`
  }
  if (by === "group") {
    const group = value.replace(/\.\*$/, "")
    if (!events.some((type) => type.startsWith(`${group}.`))) {
      throw unknownError("condition.event.group", "group of event types", value)
    }
    return `event/${group}.*`
  }
  if (by === "all" && value) return "event"
  throw emptyError("condition.event", "event, group or all")
}

const shownMax = 100

const unknownError = (field: string, what: string, value: string): Fault =>
  fieldError(
    "execution.condition_unknown",
    field,
    `names no ${what} that is here: "${value.slice(0, shownMax)}"`,
  )

const emptyError = (field: string, wanted: string): Fault =>
  fieldError("execution.condition_missing", field, `must say one of ${wanted}`)

export const kindOf = (id: string): Kind => {
  const found = kinds.find((each) => id === each || id.startsWith(`${each}/`))
  if (found) return found
  throw new Error(`${id} is the id of no condition`)
}

/** A condition as the interface says it, for the builders of its messages. */
export function toCondition(id: string) {
  const kind = kindOf(id)
  const name = id.slice(kind.length + 1)
  if (kind === "function") return { conditionType: { case: kind, value: { name } } } as const
  if (kind === "event") {
    const isGroup = name.endsWith(".*")
    const by =
      name === ""
        ? ({ case: "all", value: true } as const)
        : isGroup
          ? ({ case: "group", value: name.slice(0, -2) } as const)
          : ({ case: "event", value: name } as const)
    return { conditionType: { case: kind, value: { condition: by } } } as const
  }
  const by =
    name === ""
      ? ({ case: "all", value: true } as const)
      : name.includes("/")
        ? ({ case: "method", value: `/${name}` } as const)
        : ({ case: "service", value: name } as const)
  return { conditionType: { case: kind, value: { condition: by } } } as const
}

/** The conditions that an operation fits, the most exact first: "core.user.v2.UserService/…". */
export const conditionsOf = (kind: "request" | "response", method: string): readonly string[] => [
  `${kind}/${method}`,
  `${kind}/${method.slice(0, method.indexOf("/"))}`,
  kind,
]

/**
 * The conditions that an event fits, the most exact first, by all of its names; of two that are as
 * exact that of the earlier name.
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

/** Of these stored types of events those that a condition fits by any of their names. */
export function typesOf(id: string, types: readonly string[]): readonly string[] {
  if (id === "event") return types
  const name = id.slice("event/".length)
  const fits = name.endsWith(".*")
    ? (each: string) => each.startsWith(name.slice(0, -1))
    : (each: string) => each === name
  return types.filter((type) => namesOfType(type).some(fits))
}
