import { Fault } from "../../kernel/fault.ts"

/** A trigger at which scripts can run, by its number in the API. */
export type Trigger = 1 | 2 | 3 | 4 | 5 | 6
/** A flow that scripts can extend, by its number in the API. */
export type FlowType = 1 | 2 | 3 | 4

type FlowName = { readonly name: string; readonly label: string }

export const triggers: Readonly<Record<Trigger, FlowName>> = {
  1: { name: "TRIGGER_TYPE_POST_AUTHENTICATION", label: "Post authentication" },
  2: { name: "TRIGGER_TYPE_PRE_CREATION", label: "Pre creation" },
  3: { name: "TRIGGER_TYPE_POST_CREATION", label: "Post creation" },
  4: { name: "TRIGGER_TYPE_PRE_USERINFO_CREATION", label: "Pre userinfo creation" },
  5: { name: "TRIGGER_TYPE_PRE_ACCESS_TOKEN_CREATION", label: "Pre access token creation" },
  6: { name: "TRIGGER_TYPE_PRE_SAML_RESPONSE_CREATION", label: "Pre SAML response creation" },
}

export const flows: Readonly<
  Record<FlowType, FlowName & { readonly triggers: readonly Trigger[] }>
> = {
  1: {
    name: "FLOW_TYPE_EXTERNAL_AUTHENTICATION",
    label: "External authentication",
    triggers: [1, 2, 3],
  },
  2: { name: "FLOW_TYPE_COMPLEMENT_TOKEN", label: "Complement token", triggers: [4, 5] },
  3: {
    name: "FLOW_TYPE_INTERNAL_AUTHENTICATION",
    label: "Internal authentication",
    triggers: [1, 2, 3],
  },
  4: {
    name: "FLOW_TYPE_COMPLEMENT_SAML_RESPONSE",
    label: "Complement SAML response",
    triggers: [6],
  },
}

export const flowTypes = [1, 2, 3, 4] as const satisfies readonly FlowType[]
const triggerTypes = [1, 2, 3, 4, 5, 6] as const satisfies readonly Trigger[]

/** Parses the ID of a flow, a number or a name. Throws if the flow is unknown. */
export const parseFlow = (id: string): FlowType =>
  parseNumberOrName(flowTypes, { id, kinds: flows, what: "flow" })

/** Parses the ID of a trigger of a flow. Throws if the flow lacks it. */
export function parseTrigger(flow: FlowType, id: string): Trigger {
  const trigger = parseNumberOrName(triggerTypes, { id, kinds: triggers, what: "trigger" })
  if (flows[flow].triggers.includes(trigger)) return trigger
  const own = flows[flow].triggers.map((each) => `${each} (${triggers[each].name})`)
  throw new Fault(
    "invalid_argument",
    "flow.trigger_elsewhere",
    `trigger not found in this flow; use one of: ${own.join(", ")}`,
  )
}

type ParseOptions<T extends number> = {
  readonly id: string
  readonly kinds: Readonly<Record<T, FlowName>>
  readonly what: "flow" | "trigger"
}

function parseNumberOrName<T extends number>(
  all: readonly T[],
  { id, kinds, what }: ParseOptions<T>,
): T {
  const found = all.find((each) => id === `${each}` || id === kinds[each].name)
  if (found !== undefined) return found
  const known = all.map((each) => `${each} (${kinds[each].name})`)
  throw new Fault(
    "invalid_argument",
    `${what}.unknown`,
    `${what} not found; use one of: ${known.join(", ")}`,
  )
}
