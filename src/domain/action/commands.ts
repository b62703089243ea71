import { Fault, fieldError } from "../../kernel/fault.ts"
import { parseDisplayName } from "../../kernel/text/identifier.ts"
import type { Draft, Transaction } from "../../store/index.ts"
import { isExistingOrg as isOrgThere, org } from "../org/index.ts"
import { type FlowType, flowTypes, type Trigger } from "./flow-kind.ts"
import {
  type Action,
  type ActionEvent,
  type ActionSettings,
  action,
  type FlowEvent,
  flow,
  flowId,
  isExistingAction,
} from "./model.ts"

export type ActionInput = ActionSettings & { readonly script: string }

const scriptMax = 40_000
const timeoutMax = 20_000

/** Adds a script to an organization within a step; it runs when a flow contains it. */
export function addAction(
  tx: Transaction,
  id: string,
  { orgId, ...input }: ActionInput & { readonly orgId: string },
): void {
  if (!isOrgThere(tx.state(org, orgId))) {
    throw new Fault("not_found", "org.missing", "organization not found")
  }
  const { script, ...settings } = validateInput(input)
  const added: Draft<ActionEvent> = {
    type: "action.added",
    data: settings,
    private: { script },
    claims: [claimName(orgId, settings.name)],
  }
  tx.append(action, id, [added], orgId)
}

/**
 * Updates a script; does nothing if the values are unchanged. Omitted fields and their authors keep
 * their values.
 */
export const changeAction = action.command<Partial<ActionInput>>((state, input) => {
  requireExists(state)
  const { name, script, timeoutMs, allowedToFail } = validateInput({ ...state, ...input })
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
  const claims = name === state.name ? [] : [releaseName(orgId, state.name), claimName(orgId, name)]
  return [{ type: "action.changed", data, private: isSame ? {} : { script }, claims }]
})

const settingNames = ["name", "script", "timeoutMs", "allowedToFail"] as const

/** Deactivates a script in all flows that contain it. */
export const deactivateAction = action.command((state) => {
  requireExists(state)
  return state.status === "inactive" ? [] : [{ type: "action.deactivated", data: {} }]
})

/** Reactivates a script. The user who reactivates it becomes an additional author. */
export const reactivateAction = action.command((state) => {
  requireExists(state)
  return state.status === "active"
    ? []
    : [{ type: "action.reactivated", data: { isPartial: true } }]
})

/** Deletes a script and removes it from the flows that contain it, within a step. */
export function removeAction(tx: Transaction, id: string): void {
  const state = tx.state(action, id)
  requireExists(state)
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

export type FlowTrigger = {
  readonly orgId: string
  readonly flowType: FlowType
  readonly triggerType: Trigger
}

/** Sets the scripts of a trigger of a flow, in order; returns whether they changed. */
export function setTrigger(
  tx: Transaction,
  { orgId, flowType, triggerType }: FlowTrigger,
  actionIds: readonly string[],
): boolean {
  if (new Set(actionIds).size < actionIds.length) {
    throw fieldError("flow.action_twice", "action_ids", "must contain each script once")
  }
  for (const id of actionIds) {
    const state = tx.state(action, id)
    if (!isExistingAction(state) || state.orgId !== orgId) throw actionNotFoundError()
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

/** Removes all scripts from a flow; returns whether there were any. */
export function clearFlow(tx: Transaction, orgId: string, flowType: FlowType): boolean {
  const id = flowId(orgId, flowType)
  if (Object.keys(tx.state(flow, id).actions).length === 0) return false
  const cleared: Draft<FlowEvent> = { type: "org.flow.cleared", data: { flowType } }
  tx.append(flow, id, [cleared])
  return true
}

/** The validated input; throws a fault for the first invalid field. */
export function validateInput({
  name,
  script,
  timeoutMs,
  allowedToFail,
}: ActionInput): ActionInput {
  const bytes = Buffer.byteLength(script)
  if (bytes === 0 || bytes > scriptMax) {
    throw fieldError("action.script_length", "script", `must be 1 to ${scriptMax} bytes`)
  }
  if (timeoutMs < 0 || timeoutMs > timeoutMax) {
    throw fieldError("action.timeout", "timeout", `must be 0 to ${timeoutMax / 1000} seconds`)
  }
  return { name: parseDisplayName("name", name), script, timeoutMs, allowedToFail }
}

export function requireExists(state: Action): void {
  if (!isExistingAction(state)) throw actionNotFoundError()
}

export const actionNotFoundError = (): Fault =>
  new Fault("not_found", "action.missing", "action not found")

/** JavaScript function names are case-sensitive, so names of scripts are, too. */
const nameKey = (orgId: string, name: string) => `${encodeURIComponent(orgId)}/${name}`

const claimName = (orgId: string, name: string) => ({
  take: "action.name",
  key: nameKey(orgId, name),
  taken: {
    id: "action.name_taken",
    message: "an action with this name already exists in this organization; choose another name",
  },
})

const releaseName = (orgId: string, name: string) => ({
  release: "action.name",
  key: nameKey(orgId, name),
})
