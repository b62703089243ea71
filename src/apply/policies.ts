import type { DescMessage, DescMethod, JsonObject } from "@bufbuild/protobuf"
import { differing, namesOf } from "./compare.ts"
import { documentError } from "./document.ts"
import { at, isObject } from "./json.ts"
import { type PolicyRow, policyRows } from "./policy-rows.ts"
import { mustBeKnown, type Place, type Run, readAs } from "./run.ts"

export function policiesIn(
  content: JsonObject,
  file: string,
): readonly (readonly [string, JsonObject])[] {
  const policies = content.policies ?? {}
  if (!isObject(policies)) throw documentError(file, "policies must have names such as login:")
  mustBeKnown(policies, Object.keys(policyRows), file)
  return Object.entries(policies).map(([name, given]) => {
    if (isObject(given)) return [name, given]
    throw documentError(file, `the policy ${name} must have fields`)
  })
}

export async function applyInstancePolicy(
  run: Run,
  name: string,
  given: JsonObject,
): Promise<void> {
  const row = rowOf(name)
  const answer = await run.call(row.instance.get, {})
  await sayPolicy(run, { answer, given, get: row.instance.get, by: row.instance.update, name })
}

export async function applyOrganizationPolicy(
  run: Run,
  name: string,
  { policy: given, place }: { readonly policy: JsonObject; readonly place: Place },
): Promise<void> {
  const { get, add, update } = rowOf(name).organization
  const orgId = place.ids?.organizationId
  const answer = orgId === undefined ? {} : await run.call(get, {}, orgId)
  const isDefault =
    orgId === undefined ||
    at(answer, "policy.isDefault") === true ||
    at(answer, "isDefault") === true
  const by = isDefault ? add : update
  await sayPolicy(run, {
    answer,
    given,
    get,
    by,
    name: `${name}${place.of}`,
    orgId,
    isOwn: !isDefault,
  })
}

function rowOf(name: string): PolicyRow {
  const row = policyRows[name]
  if (!row) throw new Error(`no policy is called ${name}`)
  return row
}

type Saying = {
  readonly answer: JsonObject
  readonly given: JsonObject
  readonly get: DescMethod
  readonly by: DescMethod
  readonly name: string
  readonly orgId?: string | undefined
  /** Whether whoever it is about has a policy of their own. */
  readonly isOwn?: boolean
}

/** A policy is said as a whole: what is not described stays as it is. */
async function sayPolicy(run: Run, saying: Saying): Promise<void> {
  const { answer, given, get, by, name, orgId, isOwn = true } = saying
  const wanted = readAs(by.input, given, `policy ${name}`)
  // What is read as nothing, an option that is off, is described all the same.
  const described = { ...given, ...wanted }
  const shown = get.output.fields.find((field) => field.name === "policy")?.message
  if (!shown) throw new Error(`${get.name} answers no policy`)
  const there = at(answer, "policy")
  const now = isObject(there) ? there : {}
  const fields = namesOf(differing(described, now, shown), shown)
  if (fields.length === 0 && isOwn) return
  const kept = Object.entries(now).filter(([field]) => isSaid(by.input, field))
  if (!run.isPlan) await run.call(by, { ...Object.fromEntries(kept), ...given }, orgId)
  const action = isOwn ? "change" : "create"
  run.steps.push({ action, thing: `policy ${name}`, fields, once: {} })
}

/** Whether a field of a policy can be said again as it was read. */
const isSaid = ({ fields }: DescMessage, name: string): boolean =>
  fields.some((field) => field.jsonName === name && name !== "idps")
