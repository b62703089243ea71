// What two instances are asked of their scripts, which have the same ids in both.
import type { Step } from "./instance-steps.ts"

const management = (name: string) => `core.management.v1.ManagementService/${name}`
const moment = { flowType: "2", triggerType: "4" }
const script = "function greet() {}"

/** One, whose id comes back. */
export const actions = (name: string): readonly Step[] => [
  [management("CreateAction"), { name: `script_${name}`, script }],
]

export const actionLooks: readonly Step[] = [
  [management("ListActions"), {}],
  [management("ListFlowTypes"), {}],
  [management("ListFlowTriggerTypes"), { type: "2" }],
  [management("GetFlow"), { type: "2" }],
  ["ListScriptRuns", {}],
  ["ListScriptMoments", {}],
]

/** `id`: of the script. */
export const actionChanges = (id: string): readonly Step[] => [
  [management("GetAction"), { id }],
  [management("UpdateAction"), { id, name: "other", script }],
  [management("DeactivateAction"), { id }],
  [management("ReactivateAction"), { id }],
  [management("SetTriggerActions"), { ...moment, actionIds: [id] }],
  [management("ClearFlow"), { type: "2" }],
  [management("DeleteAction"), { id }],
]

const tried = { ...moment, organizationId: "absent", name: "greet", script, userId: "absent" }

export const actionRefusals: readonly (readonly [...Step, status: number])[] = [
  ["TryScript", tried, 404],
]
