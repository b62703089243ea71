import type { DescMessage, DescMethod, JsonObject } from "@bufbuild/protobuf"
import { changedFieldNames, differencesIn } from "./compare.ts"
import { documentError } from "./document.ts"
import { isObject, valueAt } from "./json.ts"
import { type PolicyMethods, policyMethods } from "./policy-methods.ts"
import { type ApplyRun, normalizeMessage, type ParentResource, requireKnownNames } from "./run.ts"

export function parsePolicies(
  content: JsonObject,
  file: string,
): readonly (readonly [string, JsonObject])[] {
  const policies = content.policies ?? {}
  if (!isObject(policies))
    throw documentError(file, "policies must be an object with names such as login:")
  requireKnownNames(policies, Object.keys(policyMethods), file)
  return Object.entries(policies).map(([name, requested]) => {
    if (isObject(requested)) return [name, requested]
    throw documentError(file, `the policy ${name} must be an object`)
  })
}

export async function applyInstancePolicy(
  run: ApplyRun,
  name: string,
  requested: JsonObject,
): Promise<void> {
  const row = requirePolicyRow(name)
  const answer = await run.call(row.instance.get, {})
  await updatePolicy(run, {
    response: answer,
    requested,
    get: row.instance.get,
    updateMethod: row.instance.update,
    name,
  })
}

export async function applyOrganizationPolicy(
  run: ApplyRun,
  name: string,
  { policy: requested, place }: { readonly policy: JsonObject; readonly place: ParentResource },
): Promise<void> {
  const { get, add, update } = requirePolicyRow(name).organization
  const orgId = place.ids?.organizationId
  const answer = orgId === undefined ? {} : await run.call(get, {}, orgId)
  const isDefault =
    orgId === undefined ||
    valueAt(answer, "policy.isDefault") === true ||
    valueAt(answer, "isDefault") === true
  const updateMethod = isDefault ? add : update
  await updatePolicy(run, {
    response: answer,
    requested,
    get,
    updateMethod,
    name: `${name}${place.of}`,
    orgId,
    isOwn: !isDefault,
  })
}

function requirePolicyRow(name: string): PolicyMethods {
  const row = policyMethods[name]
  if (!row) throw new Error(`policy ${name} not found`)
  return row
}

type UpdatePolicyInput = {
  readonly response: JsonObject
  readonly requested: JsonObject
  readonly get: DescMethod
  readonly updateMethod: DescMethod
  readonly name: string
  readonly orgId?: string | undefined
  /** Whether the organization has its own policy. */
  readonly isOwn?: boolean
}

/** Writes a policy as a whole; fields that are not described keep their values. */
async function updatePolicy(run: ApplyRun, input: UpdatePolicyInput): Promise<void> {
  const { response: answer, requested, get, updateMethod, name, orgId, isOwn = true } = input
  const expected = normalizeMessage(updateMethod.input, requested, `policy ${name}`)
  // Parsing omits default values such as a disabled option, but they are described.
  const described = { ...requested, ...expected }
  const policySchema = get.output.fields.find((field) => field.name === "policy")?.message
  if (!policySchema) throw new Error(`${get.name} returned no policy`)
  const currentPolicy = valueAt(answer, "policy")
  const now = isObject(currentPolicy) ? currentPolicy : {}
  const fields = changedFieldNames(differencesIn(described, now, policySchema), policySchema)
  if (fields.length === 0 && isOwn) return
  const unchangedFields = Object.entries(now).filter(([field]) =>
    isUpdatable(updateMethod.input, field),
  )
  if (!run.isPlan)
    await run.call(updateMethod, { ...Object.fromEntries(unchangedFields), ...requested }, orgId)
  const action = isOwn ? "change" : "create"
  run.steps.push({ action, thing: `policy ${name}`, fields, once: {} })
}

/** Whether a field of the response is also a field of the update. */
const isUpdatable = ({ fields }: DescMessage, name: string): boolean =>
  fields.some((field) => field.jsonName === name && name !== "idps")
