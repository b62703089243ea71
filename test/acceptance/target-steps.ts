// Requests about targets, sent to two instances that use the same IDs.
import { generateKeyPairSync } from "node:crypto"
import type { Step } from "./instance-steps.ts"

const v2 = (name: string) => `core.action.v2.ActionService/${name}`
const v3 = (name: string) => `core.resources.action.v3alpha.CoreActions/${name}`
const hook = { endpoint: "https://hook.example.com", timeout: "5s", restWebhook: {} }
/** A condition that no call matches. */
const condition = { event: { event: "quota.removed" } }
const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
const pem = Buffer.from(publicKey.export({ type: "spki", format: "pem" })).toString("base64")

/** Creates a target; the response contains its ID. */
export const createTargetSteps = (name: string): readonly Step[] => [
  [v2("CreateTarget"), { ...hook, name: `Target ${name}` }],
]

export const targetReadSteps: readonly Step[] = [
  ...["ListTargets", "ListExecutions"].map((name): Step => [v2(name), {}]),
  ...["SearchTargets", "SearchExecutions"].map((name): Step => [v3(name), {}]),
  ...[v2, v3].flatMap((name) =>
    ["Functions", "Methods", "Services"].map(
      (description): Step => [name(`ListExecution${description}`), {}],
    ),
  ),
  ["ListTargetCalls", {}],
  ["core.admin.v1.AdminService/ListMilestones", {}],
  ["core.admin.v1.AdminService/ListViews", {}],
]

/** `id`: the ID of the target. */
export const targetChangeSteps = (id: string): readonly Step[] => [
  [v2("GetTarget"), { id }],
  [v3("GetTarget"), { id }],
  [v2("UpdateTarget"), { id, name: "Changed", expirationSigningKey: "0s" }],
  [v3("PatchTarget"), { id, target: { name: "Older" } }],
  [v2("AddPublicKey"), { targetId: id, publicKey: pem }],
  [v2("ListPublicKeys"), { targetId: id }],
  [v2("RemovePublicKey"), { targetId: id, keyId: "absent" }],
  [v2("SetExecution"), { condition, targets: [id] }],
  [v3("SetExecution"), { condition, execution: { targets: [] } }],
  [v3("CreateTarget"), { target: { ...hook, name: "Older" } }],
  [v2("DeleteTarget"), { id }],
  [v3("DeleteTarget"), { id }],
]

const absent = { targetId: "absent", keyId: "absent" }

export const rejectedTargetSteps: readonly (readonly [...Step, status: number])[] = [
  [v2("ActivatePublicKey"), absent, 404],
  [v2("DeactivatePublicKey"), absent, 404],
]
