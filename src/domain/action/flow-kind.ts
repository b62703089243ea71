import { Fault } from "../../kernel/fault.ts"

/** A moment at which scripts may run, by the interface's number. */
export type Trigger = 1 | 2 | 3 | 4 | 5 | 6
/** What scripts may have a part in, by the interface's number. */
export type FlowType = 1 | 2 | 3 | 4

type Kind = { readonly name: string; readonly words: string }

export const triggers: Readonly<Record<Trigger, Kind>> = {
  1: { name: "TRIGGER_TYPE_POST_AUTHENTICATION", words: "Post authentication" },
  2: { name: "TRIGGER_TYPE_PRE_CREATION", words: "Pre creation" },
  3: { name: "TRIGGER_TYPE_POST_CREATION", words: "Post creation" },
  4: { name: "TRIGGER_TYPE_PRE_USERINFO_CREATION", words: "Pre userinfo creation" },
  5: { name: "TRIGGER_TYPE_PRE_ACCESS_TOKEN_CREATION", words: "Pre access token creation" },
  6: { name: "TRIGGER_TYPE_PRE_SAML_RESPONSE_CREATION", words: "Pre SAML response creation" },
}

export const flows: Readonly<Record<FlowType, Kind & { readonly triggers: readonly Trigger[] }>> = {
  1: {
    name: "FLOW_TYPE_EXTERNAL_AUTHENTICATION",
    words: "External authentication",
    triggers: [1, 2, 3],
  },
  2: { name: "FLOW_TYPE_COMPLEMENT_TOKEN", words: "Complement token", triggers: [4, 5] },
  3: {
    name: "FLOW_TYPE_INTERNAL_AUTHENTICATION",
    words: "Internal authentication",
    triggers: [1, 2, 3],
  },
  4: {
    name: "FLOW_TYPE_COMPLEMENT_SAML_RESPONSE",
    words: "Complement SAML response",
    triggers: [6],
  },
}

export const flowTypes = [1, 2, 3, 4] as const satisfies readonly FlowType[]
const triggerTypes = [1, 2, 3, 4, 5, 6] as const satisfies readonly Trigger[]

/** Reads the id of a flow, a number or a name. Faults where there is no such flow. */
export const flowOf = (id: string): FlowType => named(flowTypes, { id, kinds: flows, what: "flow" })

/** Reads the id of a moment of a flow. Faults where the flow has no such moment. */
export function triggerOf(flow: FlowType, id: string): Trigger {
  const trigger = named(triggerTypes, { id, kinds: triggers, what: "trigger" })
  if (flows[flow].triggers.includes(trigger)) return trigger
  const own = flows[flow].triggers.map((each) => `${each} (${triggers[each].name})`)
  throw new Fault(
    "invalid_argument",
    "flow.trigger_elsewhere",
    `the flow has no such trigger; it has ${own.join(", ")}`,
  )
}

type Sought<T extends number> = {
  readonly id: string
  readonly kinds: Readonly<Record<T, Kind>>
  readonly what: "flow" | "trigger"
}

function named<T extends number>(all: readonly T[], { id, kinds, what }: Sought<T>): T {
  const found = all.find((each) => id === `${each}` || id === kinds[each].name)
  if (found !== undefined) return found
  const known = all.map((each) => `${each} (${kinds[each].name})`)
  throw new Fault(
    "invalid_argument",
    `${what}.unknown`,
    `there is no such ${what}; there are ${known.join(", ")}`,
  )
}
