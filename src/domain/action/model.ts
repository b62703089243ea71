import { aggregate, type Event, partByKey } from "../../store/index.ts"
import { authorsAfter, type PartialUpdate } from "../policy/index.ts"
import type { FlowType, Trigger } from "./flow-kind.ts"

/** How a script runs. */
export type ActionSettings = {
  /** That of the function which is called, too. */
  readonly name: string
  /** 0 to 20,000; 0 stands for the usual. */
  readonly timeoutMs: number
  /** Whether what the script is part of goes on where it fails. */
  readonly allowedToFail: boolean
}

/** People write keys of other services into scripts: no list of events shows one. */
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
  /** The organisation that owns it. */
  readonly orgId: string
  readonly script: string
  /** The users who wrote it, and who has let it run. */
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

/** A script of an organisation. */
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

export const isThere = ({ status }: Action): boolean => status === "active" || status === "inactive"

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

/** By the number of a trigger, the scripts that run then, in this order. */
export type Flow = {
  readonly actions: Readonly<Record<string, readonly string[]>>
  /** By the number of a trigger, the user who set its scripts last; empty for no user. */
  readonly authors: Readonly<Record<string, string>>
}

/** What scripts of an organisation have a part in; one stream for each of its flows. */
export const flow = aggregate<FlowEvent, Flow>({
  stream: "flow",
  part: partByKey("triggerType"),
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

/** Ids of organisations are callers' choice, but no number of a flow has a slash in it. */
export const flowId = (orgId: string, type: FlowType): string => `${orgId}/${type}`
