// Scripts and the flows that reference them.
import type { Row } from "../row.ts"

const call = (name: string) => `management.v1.ManagementService/${name}`
const script = "function greet(ctx, api) {}"

const testRunInput = {
  name: "greet",
  flowType: "2",
  triggerType: "4",
  script: 'function greet(ctx, { v1 }) { v1.claims.setClaim("team", "red") }',
}

export const actionRows: readonly Row[] = [
  {
    call: call("CreateAction"),
    body: { name: "$fresh", script, timeout: "5s", allowedToFail: true },
    events: ["action.added"],
  },
  {
    call: call("CreateAction"),
    name: "without a script",
    body: { name: "$fresh" },
    code: "invalid_argument",
    id: "action.script_length",
  },
  {
    call: call("CreateAction"),
    name: "with too much time",
    body: { name: "$fresh", script, timeout: "21s" },
    code: "invalid_argument",
    id: "action.timeout",
  },
  {
    call: call("GetAction"),
    body: { id: "$action" },
    expect: { action: { id: "$action", state: "ACTION_STATE_ACTIVE" } },
  },
  {
    call: call("GetAction"),
    name: "of another organisation",
    as: "stranger",
    body: { id: "$action" },
    code: "not_found",
    id: "action.missing",
  },
  {
    call: call("ListActions"),
    body: { queries: [{ actionIdQuery: { id: "$action" } }] },
    expect: { details: { totalResult: "1" }, result: [{ id: "$action" }] },
  },
  {
    call: call("UpdateAction"),
    body: { id: "$action", name: "$fresh", script },
    events: ["action.changed"],
  },
  {
    call: call("DeactivateAction"),
    body: { id: "$action" },
    events: ["action.deactivated"],
  },
  {
    call: call("DeactivateAction"),
    name: "twice",
    given: [[call("DeactivateAction"), { id: "$action" }]],
    body: { id: "$action" },
    code: "failed_precondition",
    id: "action.unchanged",
  },
  {
    call: call("ReactivateAction"),
    given: [[call("DeactivateAction"), { id: "$action" }]],
    body: { id: "$action" },
    events: ["action.reactivated"],
  },
  {
    call: call("DeleteAction"),
    body: { id: "$action" },
    events: ["action.removed"],
  },
  {
    call: call("DeleteAction"),
    name: "that a flow names",
    body: { id: "$boundAction" },
    events: ["action.removed", "org.flow.trigger_actions.cascade.removed"],
  },
  {
    call: call("ListFlowTypes"),
    expect: { result: [{ id: "1" }, { id: "2" }, { id: "3" }, { id: "4" }] },
  },
  {
    call: call("ListFlowTriggerTypes"),
    body: { type: "FLOW_TYPE_EXTERNAL_AUTHENTICATION" },
    expect: { result: [{ id: "1" }, { id: "2" }, { id: "3" }] },
  },
  {
    call: call("GetFlow"),
    given: [[call("GetAction"), { id: "$boundAction" }]],
    body: { type: "2" },
    expect: {
      flow: {
        type: { id: "2" },
        state: "FLOW_STATE_ACTIVE",
        triggerActions: [{ triggerType: { id: "4" }, actions: [{ id: "$action" }] }],
      },
    },
  },
  {
    call: call("GetFlow"),
    name: "that is none",
    body: { type: "5" },
    code: "invalid_argument",
    id: "flow.unknown",
  },
  {
    call: call("SetTriggerActions"),
    body: { flowType: "2", triggerType: "5", actionIds: ["$action"] },
    events: ["org.flow.trigger_actions.set"],
  },
  {
    call: call("SetTriggerActions"),
    name: "of another flow",
    body: { flowType: "2", triggerType: "1", actionIds: ["$action"] },
    code: "invalid_argument",
    id: "flow.trigger_elsewhere",
  },
  {
    call: call("SetTriggerActions"),
    name: "with a script of another organisation",
    as: "stranger",
    body: { flowType: "2", triggerType: "5", actionIds: ["$action"] },
    code: "not_found",
    id: "action.missing",
  },
  { call: "diagnosis.v2.DiagnosisService/ListScriptRuns", expect: {} },
  {
    call: "diagnosis.v2.DiagnosisService/ListScriptMoments",
    as: "nobody",
    expect: {
      moments: ["1 1", "1 2", "1 3", "2 4", "2 5", "3 1", "3 2", "3 3", "4 6"].map((moment) => {
        const [flowType, triggerType] = moment.split(" ")
        return { flowType, triggerType }
      }),
    },
  },
  {
    call: "diagnosis.v2.DiagnosisService/TryScript",
    body: { ...testRunInput, organizationId: "$org", userId: "$user" },
    expect: { effects: [{ kind: "claim", values: ["team", "red"] }] },
  },
  {
    call: "diagnosis.v2.DiagnosisService/TryScript",
    name: "as who may not write scripts there",
    as: "stranger",
    body: { ...testRunInput, organizationId: "$org", userId: "$user" },
    code: "not_found",
    id: "org.missing",
  },
  {
    call: call("ClearFlow"),
    given: [[call("GetAction"), { id: "$boundAction" }]],
    body: { type: "2" },
    events: ["org.flow.cleared"],
  },
]
