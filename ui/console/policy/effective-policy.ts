import type { DescMethodUnary } from "@bufbuild/protobuf"
import { isSame } from "../form/index.ts"
import { call, ignoreError, useReadIfAllowed } from "../shell/index.ts"
import { asSelection, normalizeValues, toFormValues, toRequestValue } from "./field-values.ts"
import type {
  PolicyDefinition,
  PolicyFieldSpec,
  PolicyFields,
  PolicyOwner,
  PolicyValues,
} from "./policy.ts"

/** The effective policy of an owner, and where it comes from. */
export type EffectivePolicy = {
  readonly values: PolicyValues
  /** Whether the owner has a policy of its own. */
  readonly isOwn: boolean
  /** The instance's values, if the caller can read them. */
  readonly inherited: PolicyValues | undefined
  /** The complete message, including values that no form shows. */
  readonly message: PolicyFields
}

const unchangedErrorId = "policy.unchanged"

export const withinOwner = (owner: PolicyOwner) => (owner === undefined ? {} : { within: owner })

/** The effective policy of an owner; undefined if the caller can't read it. */
export function usePolicy(
  policy: PolicyDefinition,
  owner: PolicyOwner,
): EffectivePolicy | undefined {
  const { instance, organization } = policy
  const isInstance = owner === undefined
  const present = useReadIfAllowed(
    isInstance ? instance.get : organization.get,
    {},
    withinOwner(owner),
  )
  const above = useReadIfAllowed(
    isInstance ? instance.get : organization.inherited,
    {},
    withinOwner(owner),
  )
  if (!present) return undefined
  const message = requirePolicy(present)
  return {
    message,
    values: toFormValues(policy, message),
    isOwn: !isInstance && message.isDefault !== true,
    inherited: above && toFormValues(policy, requirePolicy(above)),
  }
}

/** The policy in a response. */
export function requirePolicy<Message>(answer: { readonly policy?: Message | undefined }): Message {
  if (answer.policy !== undefined) return answer.policy
  throw new Error("the server returned no policy")
}

type SavePolicyInput = {
  readonly policy: EffectivePolicy
  readonly values: PolicyValues
  readonly stored?: (part: PolicyValues) => void
}

/**
 * Saves form values. Values that the form doesn't show are kept. Factors are added before and
 * removed after the other values, so that each intermediate state is valid; other values are sent
 * only if they changed. `stored` is called with the values of each successful call.
 */
export async function savePolicy(
  policy: PolicyDefinition,
  owner: PolicyOwner,
  { policy: standing, values, stored }: SavePolicyInput,
): Promise<void> {
  const { instance, organization } = policy
  const message = new Map(Object.entries<unknown>({ ...standing.message }))
  const own = standing.isOwn ? organization.update : organization.add
  const method = owner === undefined ? instance.update : own
  const hiddenFields = method.input.fields
    .filter((field) => field.fieldKind !== "list" || field.listKind !== "message")
    .map(({ localName }) => [localName, toInt32(message.get(localName))] as const)
  const changed = policy.fields.map((field) => [field.name, toRequestValue(field, values)] as const)
  const request = Object.fromEntries([...hiddenFields, ...changed])
  const isSent = ({ name }: PolicyFieldSpec) => method.input.field[name] !== undefined
  const switches = policy.fields
    .filter((field) => !isSent(field))
    .flatMap((field) => listSwitches(field, owner, standing.values, values))
  const rest = policy.fields.filter(isSent)
  const differs = rest.some(({ name }) => !isSame(values[name], standing.values[name]))
  let now = standing.values
  const takeAll = async (isOn: boolean) => {
    for (const switchChange of switches.filter((each) => each.isOn === isOn)) {
      await applyFactorSwitch(switchChange, owner)
      const part = applySwitch(now, switchChange)
      now = { ...now, ...part }
      stored?.(part)
    }
  }
  await takeAll(true)
  const copy = method === organization.add ? await organization.copyInherited?.(owner) : undefined
  if (differs || method === organization.add) {
    await ignoreError(
      unchangedErrorId,
      call(method, { ...request, ...orgIdField(method, owner) }, withinOwner(owner)),
    )
    stored?.(normalizeValues(rest, values))
  }
  await takeAll(false)
  await copy?.()
  const { activate } = owner === undefined ? instance : organization
  if (activate) await ignoreError(unchangedErrorId, call(activate, {}, withinOwner(owner)))
}

type FactorSwitch = {
  readonly name: string
  readonly method: DescMethodUnary
  readonly type: number
  readonly isOn: boolean
}

/** The list after a factor was added or removed, in the server's order. */
function applySwitch(values: PolicyValues, { name, type, isOn }: FactorSwitch): PolicyValues {
  const others = asSelection(values[name]).filter((each) => each !== String(type))
  return { [name]: isOn ? [...others, String(type)] : others }
}

function listSwitches(
  field: PolicyFieldSpec,
  owner: PolicyOwner,
  before: PolicyValues,
  after: PolicyValues,
): readonly FactorSwitch[] {
  if (field.kind !== "several") return []
  const { add, remove } = owner === undefined ? field.instance : field.organization
  const previous = asSelection(before[field.name])
  const has = asSelection(after[field.name])
  return field.options.flatMap(({ value }) => {
    const isOn = has.includes(value)
    const type = Number(value)
    if (isOn === previous.includes(value)) return []
    return [{ name: field.name, method: isOn ? add : remove, type, isOn }]
  })
}

/** A change that an earlier attempt has already made is not an error. */
const applyFactorSwitch = ({ method, type, isOn }: FactorSwitch, owner: PolicyOwner) =>
  ignoreError(
    isOn ? "policy.factor_exists" : "policy.factor_missing",
    call(method, { type }, withinOwner(owner)),
  )

/** Responses have 64-bit numbers, requests 32-bit ones. */
const toInt32 = (value: unknown): unknown => (typeof value === "bigint" ? Number(value) : value)

/** Resets an organization's policy to the instance's. */
export async function resetPolicy(policy: PolicyDefinition, owner: PolicyOwner): Promise<void> {
  const { reset } = policy.organization
  await call(reset, orgIdField(reset, owner), withinOwner(owner))
}

/** Operations of the instance have a field for the organization; others use the request header. */
const orgIdField = ({ input }: DescMethodUnary, owner: PolicyOwner) =>
  input.fields.some(({ localName }) => localName === "orgId") ? { orgId: owner } : {}
