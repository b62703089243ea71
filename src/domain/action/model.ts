import { aggregate, type Event, streamPartByKey } from "../../store/index.ts"
import { authorsAfter, type PartialUpdate } from "../policy/index.ts"
import type { FlowType, Trigger } from "./flow-kind.ts"

/** The settings of a script. */
export type ActionSettings = {
  /** Also the name of the function to call. */
  readonly name: string
  /** 0 to 20,000; 0 is the default timeout. */
  readonly timeoutMs: number
  /** Whether the flow continues if the script fails. */
  readonly allowedToFail: boolean
}

/** Scripts can contain keys of other services, so event lists never show them. */
type Source = { readonly script?: string }

export type ActionEvent =
  | Event<"action.added", ActionSettings, Source>
  | Event<"action.changed", Partial<ActionSettings> & PartialUpdate, Source>
  | Event<"action.deactivated">
  | Event<"action.reactivated", PartialUpdate>
  | Event<"action.removed">

export type ActionStatus = "active" | "inactive"

export type Action = ActionSettings & {
  readonly status: "absent" | ActionStatus | "removed"
  /** The organization that owns the script. */
  readonly orgId: string
  readonly script: string
  /** The users who wrote or reactivated the script. */
  readonly authors: readonly string[]
}

const absent: Action = {
  status: "absent",
  orgId: "",
  authors: [],
  name: "",
  script: "",
  timeoutMs: 0,
  allowedToFail: false,
}

/** A script of an organization. */
export const action = aggregate<ActionEvent, Action>({
  stream: "action",
  revision: 3,
  initial: absent,
  evolve: {
    "action.added": (_, { data, private: source, owner, editor }) => ({
      ...data,
      authors: authorsAfter([], editor.user, {}),
      status: "active",
      orgId: owner,
      script: source?.script ?? "",
    }),
    "action.changed": (state, { data: { isPartial, ...data }, private: source, editor }) => ({
      ...state,
      ...data,
      authors: authorsAfter(state.authors, editor.user, { isPartial }),
      script: source?.script ?? state.script,
    }),
    "action.deactivated": (state) => ({ ...state, status: "inactive" }),
    "action.reactivated": (state, { data, editor }) => ({
      ...state,
      status: "active",
      authors: authorsAfter(state.authors, editor.user, data),
    }),
    "action.removed": () => ({ ...absent, status: "removed" }),
  },
})

export const isExistingAction = ({ status }: Action): boolean =>
  status === "active" || status === "inactive"

export type FlowEvent =
  | Event<
      "org.flow.trigger_actions.set",
      {
        readonly flowType: FlowType
        readonly triggerType: Trigger
        readonly actionIds: readonly string[]
      }
    >
  | Event<
      "org.flow.trigger_actions.cascade.removed",
      { readonly flowType: FlowType; readonly actionId: string }
    >
  | Event<"org.flow.cleared", { readonly flowType: FlowType }>

/** The scripts of each trigger in order, by the number of the trigger. */
export type Flow = {
  readonly actions: Readonly<Record<string, readonly string[]>>
  /** The user who last set the scripts of each trigger, by its number; empty if unknown. */
  readonly authors: Readonly<Record<string, string>>
}

/** The flows of an organization; one stream for each flow. */
export const flow = aggregate<FlowEvent, Flow>({
  stream: "flow",
  part: streamPartByKey("triggerType"),
  revision: 2,
  initial: { actions: {}, authors: {} },
  evolve: {
    "org.flow.trigger_actions.set": (state, { data: { triggerType, actionIds }, editor }) => {
      const { [`${triggerType}`]: _, ...others } = state.actions
      return {
        authors: { ...state.authors, [triggerType]: editor.user },
        actions: actionIds.length === 0 ? others : { ...others, [triggerType]: actionIds },
      }
    },
    "org.flow.trigger_actions.cascade.removed": ({ actions, authors }, { data: { actionId } }) => ({
      authors,
      actions: Object.fromEntries(
        Object.entries(actions)
          .map(([trigger, ids]) => [trigger, ids.filter((id) => id !== actionId)] as const)
          .filter(([, ids]) => ids.length > 0),
      ),
    }),
    "org.flow.cleared": () => ({ actions: {}, authors: {} }),
  },
})

/** Callers can choose organization IDs, but the number of a flow never contains a slash. */
export const flowId = (orgId: string, type: FlowType): string => `${orgId}/${type}`
