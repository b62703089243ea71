// Targets and the executions that call them.
import type { Row } from "../row.ts"

const call = (name: string) => `action.v2.ActionService/${name}`
const older = (name: string) => `resources.action.v3alpha.CoreActions/${name}`

const as = "owner"
const newTarget = { name: "$fresh", endpoint: "https://hook.example.com", timeout: "5s" }
const restWebhook = { interruptOnError: true }
/** No calls trigger this event. */
const condition = { event: { event: "quota.removed" } }
const targetKey = { targetId: "$target", keyId: "$targetKey" }

const lists: readonly Row[] = [call, older].flatMap((name): readonly Row[] => [
  {
    call: name("ListExecutionFunctions"),
    as: "nobody",
    expect: { functions: ["preuserinfo", "preaccesstoken", "presamlresponse"] },
  },
  { call: name("ListExecutionMethods"), as: "nobody", expect: {} },
  { call: name("ListExecutionServices"), as: "nobody", expect: {} },
])

export const targetRows: readonly Row[] = [
  {
    call: call("CreateTarget"),
    as,
    body: { ...newTarget, restWebhook, payloadType: "PAYLOAD_TYPE_JWT" },
    events: ["target.added"],
  },
  {
    call: call("CreateTarget"),
    name: "of no type",
    as,
    body: newTarget,
    code: "invalid_argument",
    id: "target.type_missing",
  },
  {
    call: call("CreateTarget"),
    name: "without a timeout",
    as,
    body: { ...newTarget, timeout: "0s", restAsync: {} },
    code: "invalid_argument",
    id: "target.timeout",
  },
  {
    call: call("CreateTarget"),
    name: "at an address with a password",
    as,
    body: { ...newTarget, endpoint: "https://me:secret@hook.example.com", restAsync: {} },
    code: "invalid_argument",
    id: "target.endpoint",
  },
  {
    call: call("CreateTarget"),
    name: "without the permission",
    body: { ...newTarget, restWebhook },
    code: "permission_denied",
    id: "access.denied",
  },
  {
    call: call("GetTarget"),
    as,
    body: { id: "$target" },
    expect: { target: { id: "$target", restWebhook, timeout: "5s" } },
  },
  {
    call: call("GetTarget"),
    name: "that is not there",
    as,
    body: { id: "1" },
    code: "not_found",
    id: "target.missing",
  },
  {
    call: call("ListTargets"),
    as,
    body: { filters: [{ inTargetIdsFilter: { targetIds: ["$target"] } }] },
    expect: { pagination: { totalResult: "1" }, targets: [{ id: "$target" }] },
  },
  {
    call: call("UpdateTarget"),
    as,
    body: { id: "$target", name: "$fresh", expirationSigningKey: "0s" },
    events: ["target.changed"],
  },
  {
    call: call("UpdateTarget"),
    name: "to what it is",
    as,
    body: { id: "$target", timeout: "5s" },
    events: [],
  },
  { call: call("DeleteTarget"), as, body: { id: "$target" }, events: ["target.removed"] },
  {
    call: call("DeleteTarget"),
    name: "that an execution names",
    as,
    given: [[call("SetExecution"), { condition, targets: ["$target"] }]],
    body: { id: "$target" },
    events: ["target.removed", "execution.removed"],
  },
  { call: call("DeleteTarget"), name: "that is gone", as, body: { id: "1" }, expect: {} },
  {
    call: call("AddPublicKey"),
    as,
    body: { targetId: "$target", publicKey: "$publicKey" },
    events: ["target.public_key.added"],
  },
  {
    call: call("AddPublicKey"),
    name: "that is none",
    as,
    body: { targetId: "$target", publicKey: "AAAA" },
    code: "invalid_argument",
    id: "target.key_unusable",
  },
  {
    call: call("ActivatePublicKey"),
    as,
    body: targetKey,
    events: ["target.public_key.activated"],
  },
  {
    call: call("DeactivatePublicKey"),
    as,
    given: [[call("ActivatePublicKey"), targetKey]],
    body: targetKey,
    events: ["target.public_key.deactivated"],
  },
  { call: call("RemovePublicKey"), as, body: targetKey, events: ["target.public_key.removed"] },
  {
    call: call("RemovePublicKey"),
    name: "that is active",
    as,
    given: [[call("ActivatePublicKey"), targetKey]],
    body: targetKey,
    code: "failed_precondition",
    id: "target.key_active",
  },
  {
    call: call("ListPublicKeys"),
    as,
    given: [[call("ActivatePublicKey"), targetKey]],
    body: { targetId: "$target", filters: [{ activeFilter: true }] },
    expect: { publicKeys: [{ keyId: "$targetKey", active: true }] },
  },
  {
    call: call("SetExecution"),
    as,
    once: true,
    body: { condition, targets: ["$target"] },
    events: ["execution.set"],
  },
  {
    call: call("SetExecution"),
    name: "at no event that there is",
    as,
    body: { condition: { event: { event: "nothing.happened" } }, targets: ["$target"] },
    code: "invalid_argument",
    id: "execution.condition_unknown",
  },
  {
    call: call("SetExecution"),
    name: "with a target that is not there",
    as,
    body: { condition, targets: ["1"] },
    code: "not_found",
    id: "target.missing",
  },
  {
    call: call("ListExecutions"),
    as,
    once: true,
    given: [[call("SetExecution"), { condition, targets: ["$target"] }]],
    body: { filters: [{ targetFilter: { targetId: "$target" } }] },
    expect: { executions: [{ condition, targets: ["$target"] }] },
  },
  {
    call: call("ListExecutions"),
    name: "without a target",
    as,
    once: true,
    given: [
      [call("SetExecution"), { condition, targets: ["$target"] }],
      [call("SetExecution"), { condition }],
    ],
    expect: { pagination: {} },
  },
  ...lists,
  {
    call: older("CreateTarget"),
    as,
    body: { target: { ...newTarget, restCall: {} } },
    events: ["target.added"],
  },
  {
    call: older("PatchTarget"),
    as,
    body: { id: "$target", target: { restAsync: {}, regenerateSigningKey: true } },
    events: ["target.changed"],
  },
  {
    call: older("GetTarget"),
    as,
    body: { id: "$target" },
    expect: { target: { details: { id: "$target" }, config: { restWebhook } } },
  },
  {
    call: older("SearchTargets"),
    as,
    body: { filters: [{ inTargetIdsFilter: { targetIds: ["$target"] } }] },
    expect: { result: [{ details: { id: "$target" } }] },
  },
  {
    call: older("SetExecution"),
    as,
    once: true,
    body: { condition, execution: { targets: [{ target: "$target" }] } },
    events: ["execution.set"],
  },
  {
    call: older("SetExecution"),
    name: "that includes itself",
    as,
    once: true,
    given: [
      [older("SetExecution"), { condition, execution: { targets: [{ target: "$target" }] } }],
    ],
    body: { condition, execution: { targets: [{ include: condition }] } },
    code: "failed_precondition",
    id: "execution.circle",
  },
  {
    call: older("SearchExecutions"),
    as,
    once: true,
    given: [
      [older("SetExecution"), { condition, execution: { targets: [{ target: "$target" }] } }],
    ],
    body: { filters: [{ executionTypeFilter: { executionType: "EXECUTION_TYPE_EVENT" } }] },
    expect: { result: [{ condition, execution: { targets: [{ target: "$target" }] } }] },
  },
  { call: older("DeleteTarget"), as, body: { id: "$target" }, events: ["target.removed"] },
  { call: "diagnosis.v2.DiagnosisService/ListTargetCalls", as, expect: {} },
]
