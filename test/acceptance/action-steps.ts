// Requests about scripts, sent to two instances that use the same IDs.
import type { Step } from "./instance-steps.ts"

const management = (name: string) => `core.management.v1.ManagementService/${name}`
const trigger = { flowType: "2", triggerType: "4" }
const script = "function greet() {}"

/** Creates a script; the response contains its ID. */
export const createActionSteps = (name: string): readonly Step[] => [
  [management("CreateAction"), { name: `script_${name}`, script }],
]

export const actionReadSteps: readonly Step[] = [
  [management("ListActions"), {}],
  [management("ListFlowTypes"), {}],
  [management("ListFlowTriggerTypes"), { type: "2" }],
  [management("GetFlow"), { type: "2" }],
  ["ListScriptRuns", {}],
  ["ListScriptMoments", {}],
]

/** `id`: the ID of the script. */
export const actionChangeSteps = (id: string): readonly Step[] => [
  [management("GetAction"), { id }],
  [management("UpdateAction"), { id, name: "other", script }],
  [management("DeactivateAction"), { id }],
  [management("ReactivateAction"), { id }],
  [management("SetTriggerActions"), { ...trigger, actionIds: [id] }],
  [management("ClearFlow"), { type: "2" }],
  [management("DeleteAction"), { id }],
]

const tryScriptRequest = {
  ...trigger,
  organizationId: "absent",
  name: "greet",
  script,
  userId: "absent",
}

export const rejectedActionSteps: readonly (readonly [...Step, status: number])[] = [
  ["TryScript", tryScriptRequest, 404],
]
