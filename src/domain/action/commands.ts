import { Fault, fieldError } from "../../kernel/fault.ts"
import { givenName } from "../../kernel/text/given.ts"
import type { Draft, Transaction } from "../../store/index.ts"
import { isThere as isOrgThere, org } from "../org/index.ts"
import { type FlowType, flowTypes, type Trigger } from "./flow-kind.ts"
import {
  type Action,
  type ActionEvent,
  type ActionSettings,
  action,
  type FlowEvent,
  flow,
  flowId,
  isThere,
} from "./model.ts"

export type ActionInput = ActionSettings & { readonly script: string }

const scriptMax = 40_000
const timeoutMax = 20_000

/** Adds a script to an organisation, as a part of a step; it runs once a flow names it. */
export function addAction(
  tx: Transaction,
  id: string,
  { orgId, ...input }: ActionInput & { readonly orgId: string },
): void {
  if (!isOrgThere(tx.state(org, orgId))) {
    throw new Fault("not_found", "org.missing", "there is no such organisation")
  }
  const { script, ...settings } = checked(input)
  const added: Draft<ActionEvent> = {
    type: "action.added",
    data: settings,
    private: { script },
    claims: [takeName(orgId, settings.name)],
  }
  tx.append(action, id, [added], orgId)
}

/**
 * Makes a script what is given; nothing happens where it is so already. What is left out stays, as
 * what its authors have set.
 */
export const changeAction = action.command<Partial<ActionInput>>((state, input) => {
  mustExist(state)
  const { name, script, timeoutMs, allowedToFail } = checked({ ...state, ...input })
  const isPartial = settingNames.some((each) => input[each] === undefined)
  const changed = {
    ...(name !== state.name && { name }),
    ...(timeoutMs !== state.timeoutMs && { timeoutMs }),
    ...(allowedToFail !== state.allowedToFail && { allowedToFail }),
  }
  const isSame = script === state.script
  if (isSame && Object.keys(changed).length === 0) return []
  const { orgId } = state
  const data = { ...changed, ...(isPartial && { isPartial }) }
  const claims = name === state.name ? [] : [releaseName(orgId, state.name), takeName(orgId, name)]
  return [{ type: "action.changed", data, private: isSame ? {} : { script }, claims }]
})

const settingNames = ["name", "script", "timeoutMs", "allowedToFail"] as const

/** Stops a script wherever a flow names it. */
export const deactivateAction = action.command((state) => {
  mustExist(state)
  return state.status === "inactive" ? [] : [{ type: "action.deactivated", data: {} }]
})

/** Lets a script run again. Whoever does becomes an author beside those who wrote it. */
export const reactivateAction = action.command((state) => {
  mustExist(state)
  return state.status === "active"
    ? []
    : [{ type: "action.reactivated", data: { isPartial: true } }]
})

/** Removes a script for good and takes it out of the flows that name it, as a part of a step. */
export function removeAction(tx: Transaction, id: string): void {
  const state = tx.state(action, id)
  mustExist(state)
  const { orgId, name } = state
  const claims = [releaseName(orgId, name)]
  const removed: Draft<ActionEvent> = { type: "action.removed", data: {}, claims, erase: {} }
  tx.append(action, id, [removed])
  for (const flowType of flowTypes) {
    const named = Object.values(tx.state(flow, flowId(orgId, flowType)).actions)
    if (!named.some((ids) => ids.includes(id))) continue
    const left: Draft<FlowEvent> = {
      type: "org.flow.trigger_actions.cascade.removed",
      data: { flowType, actionId: id },
    }
    tx.append(flow, flowId(orgId, flowType), [left])
  }
}

export type Moment = {
  readonly orgId: string
  readonly flowType: FlowType
  readonly triggerType: Trigger
}

/**
 * Says which scripts of the organisation run at a moment of one of its flows, in which order;
 * answers whether that is new.
 */
export function setTrigger(
  tx: Transaction,
  { orgId, flowType, triggerType }: Moment,
  actionIds: readonly string[],
): boolean {
  if (new Set(actionIds).size < actionIds.length) {
    throw fieldError("flow.action_twice", "action_ids", "must name each script once")
  }
  for (const id of actionIds) {
    const state = tx.state(action, id)
    if (!isThere(state) || state.orgId !== orgId) throw missingError()
  }
  const id = flowId(orgId, flowType)
  const before = tx.state(flow, id).actions[triggerType] ?? []
  const isSame =
    before.length === actionIds.length && before.every((each, at) => each === actionIds[at])
  if (isSame) return false
  const data = { flowType, triggerType, actionIds }
  const set: Draft<FlowEvent> = { type: "org.flow.trigger_actions.set", data }
  tx.append(flow, id, [set], orgId)
  return true
}

/** Takes all scripts out of a flow; answers whether there was one. */
export function clearFlow(tx: Transaction, orgId: string, flowType: FlowType): boolean {
  const id = flowId(orgId, flowType)
  if (Object.keys(tx.state(flow, id).actions).length === 0) return false
  const cleared: Draft<FlowEvent> = { type: "org.flow.cleared", data: { flowType } }
  tx.append(flow, id, [cleared])
  return true
}

/** A script as it may be kept; faults at the field that it can't be kept for. */
export function checked({ name, script, timeoutMs, allowedToFail }: ActionInput): ActionInput {
  const bytes = Buffer.byteLength(script)
  if (bytes === 0 || bytes > scriptMax) {
    throw fieldError("action.script_length", "script", `must have 1 to ${scriptMax} bytes`)
  }
  if (timeoutMs < 0 || timeoutMs > timeoutMax) {
    throw fieldError("action.timeout", "timeout", `must be 0 to ${timeoutMax / 1000} seconds`)
  }
  return { name: givenName("name", name), script, timeoutMs, allowedToFail }
}

export function mustExist(state: Action): void {
  if (!isThere(state)) throw missingError()
}

export const missingError = (): Fault =>
  new Fault("not_found", "action.missing", "there is no such script")

/** Functions are told apart by case, and so are the scripts that are named by them. */
const nameKey = (orgId: string, name: string) => `${encodeURIComponent(orgId)}/${name}`

const takeName = (orgId: string, name: string) => ({
  take: "action.name",
  key: nameKey(orgId, name),
  taken: {
    id: "action.name_taken",
    message: "the organisation has a script of this name already; choose another",
  },
})

const releaseName = (orgId: string, name: string) => ({
  release: "action.name",
  key: nameKey(orgId, name),
})
